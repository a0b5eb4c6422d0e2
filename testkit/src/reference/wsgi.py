"""The reference's API, with the files of this directory."""

import os
import sys

os.environ["OS_NEUTRON_CONFIG_DIR"] = "@HOME@"
os.environ["OS_NEUTRON_CONFIG_FILES"] = "neutron.conf;ml2_conf.ini"
sys.argv = ["neutron-api"]
from neutron.wsgi.api import application  # noqa: E402,F401
