//! OpenStack's own client, python-openstackclient from PyPI, against the whole service.
//!
//! Each test runs one chapter of `scenarios.py` against a service of its own, in a host made of namespaces. The client is installed
//! into `target/openstack-client` once; a test fails when it cannot be.

#[cfg(test)]
mod tests;
