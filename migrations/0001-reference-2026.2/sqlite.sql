-- The schema of Neutron 29 (2026.2) on SQLite: its tables, columns, keys and references under its names.
--
-- What differs from MySQL, where the facts were read:
-- enumerations are CHECKs; booleans are 0 and 1; times are text, YYYY-MM-DD HH:MM:SS in UTC;
-- names of indexes are unique in the whole database here, so those that are not get the table in front;
-- tables that have nothing but their primary key are stored by it (WITHOUT ROWID), which saves a tree; others are not,
-- since their indexes then grow at one end and the creates of one commit share pages.

CREATE TABLE standardattributes (
    id INTEGER NOT NULL PRIMARY KEY,
    resource_type VARCHAR(255) NOT NULL,
    created_at DATETIME,
    updated_at DATETIME,
    description VARCHAR(255),
    revision_number BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE address_groups (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    standard_attr_id BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_address_groups0standard_attr_id UNIQUE (standard_attr_id),
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_address_groups_project_id ON address_groups (project_id);

CREATE TABLE address_associations (
    address VARCHAR(64) NOT NULL,
    address_group_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (address, address_group_id),
    FOREIGN KEY (address_group_id) REFERENCES address_groups (id) ON DELETE CASCADE
);
CREATE INDEX ix_address_associations_address_group_id ON address_associations (address_group_id);

CREATE TABLE address_scopes (
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255) NOT NULL,
    project_id VARCHAR(255),
    shared BOOLEAN NOT NULL DEFAULT 0,
    ip_version INTEGER NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX ix_address_scopes_project_id ON address_scopes (project_id);

CREATE TABLE addressgrouprbacs (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    target_project VARCHAR(255) NOT NULL,
    action VARCHAR(255) NOT NULL,
    object_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_addressgrouprbacs0target_project0object_id0action UNIQUE (target_project, object_id, action),
    FOREIGN KEY (object_id) REFERENCES address_groups (id) ON DELETE CASCADE
);
CREATE INDEX ix_addressgrouprbacs_action ON addressgrouprbacs (action);
CREATE INDEX ix_addressgrouprbacs_project_id ON addressgrouprbacs (project_id);
CREATE INDEX ix_addressgrouprbacs_target_project ON addressgrouprbacs (target_project);
CREATE INDEX ix_addressgrouprbacs_object_id ON addressgrouprbacs (object_id);

CREATE TABLE addressscoperbacs (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    target_project VARCHAR(255) NOT NULL,
    action VARCHAR(255) NOT NULL,
    object_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_addressscoperbacs0target_project0object_id0action UNIQUE (target_project, object_id, action),
    FOREIGN KEY (object_id) REFERENCES address_scopes (id) ON DELETE CASCADE
);
CREATE INDEX ix_addressscoperbacs_action ON addressscoperbacs (action);
CREATE INDEX ix_addressscoperbacs_project_id ON addressscoperbacs (project_id);
CREATE INDEX ix_addressscoperbacs_target_project ON addressscoperbacs (target_project);
CREATE INDEX ix_addressscoperbacs_object_id ON addressscoperbacs (object_id);

CREATE TABLE agents (
    id VARCHAR(36) NOT NULL,
    agent_type VARCHAR(255) NOT NULL,
    binary VARCHAR(255) NOT NULL,
    topic VARCHAR(255) NOT NULL,
    host VARCHAR(255) NOT NULL,
    admin_state_up BOOLEAN NOT NULL DEFAULT 1,
    created_at DATETIME NOT NULL,
    started_at DATETIME NOT NULL,
    heartbeat_timestamp DATETIME NOT NULL,
    description VARCHAR(255),
    configurations VARCHAR(4095) NOT NULL,
    load INTEGER NOT NULL DEFAULT 0,
    availability_zone VARCHAR(255),
    resource_versions VARCHAR(8191),
    resources_synced BOOLEAN,
    PRIMARY KEY (id),
    CONSTRAINT uniq_agents0agent_type0host UNIQUE (agent_type, host)
);
CREATE INDEX ix_agents_host ON agents (host);

CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    PRIMARY KEY (version_num)
) WITHOUT ROWID;

CREATE TABLE networks (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    status VARCHAR(16),
    admin_state_up BOOLEAN,
    mtu INTEGER NOT NULL DEFAULT 1500,
    vlan_transparent BOOLEAN,
    standard_attr_id BIGINT NOT NULL,
    availability_zone_hints VARCHAR(255),
    qinq BOOLEAN,
    PRIMARY KEY (id),
    CONSTRAINT uniq_networks0standard_attr_id UNIQUE (standard_attr_id),
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_networks_project_id ON networks (project_id);

CREATE TABLE ports (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    network_id VARCHAR(36) NOT NULL,
    mac_address VARCHAR(32) NOT NULL,
    admin_state_up BOOLEAN NOT NULL,
    status VARCHAR(16) NOT NULL,
    device_id VARCHAR(255) NOT NULL,
    device_owner VARCHAR(255) NOT NULL,
    standard_attr_id BIGINT NOT NULL,
    ip_allocation VARCHAR(16),
    PRIMARY KEY (id),
    CONSTRAINT uniq_ports0id0network_id UNIQUE (id, network_id),
    CONSTRAINT uniq_ports0network_id0mac_address UNIQUE (network_id, mac_address),
    CONSTRAINT uniq_ports0standard_attr_id UNIQUE (standard_attr_id),
    FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE RESTRICT,
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_ports_device_id ON ports (device_id);
CREATE INDEX ix_ports_network_id ON ports (network_id);
CREATE INDEX ix_ports_network_id_device_owner ON ports (network_id, device_owner);
CREATE INDEX ix_ports_project_id ON ports (project_id);

CREATE TABLE allowedaddresspairs (
    port_id VARCHAR(36) NOT NULL,
    mac_address VARCHAR(32) NOT NULL,
    ip_address VARCHAR(64) NOT NULL,
    PRIMARY KEY (port_id, mac_address, ip_address),
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE flavors (
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    description VARCHAR(1024),
    enabled BOOLEAN NOT NULL DEFAULT 1,
    service_type VARCHAR(36),
    PRIMARY KEY (id)
) WITHOUT ROWID;

CREATE TABLE routers (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    status VARCHAR(16),
    admin_state_up BOOLEAN,
    gw_port_id VARCHAR(36),
    enable_snat BOOLEAN NOT NULL DEFAULT 1,
    standard_attr_id BIGINT NOT NULL,
    flavor_id VARCHAR(36),
    PRIMARY KEY (id),
    CONSTRAINT uniq_routers0standard_attr_id UNIQUE (standard_attr_id),
    FOREIGN KEY (gw_port_id) REFERENCES ports (id) ON DELETE RESTRICT,
    FOREIGN KEY (flavor_id) REFERENCES flavors (id) ON DELETE RESTRICT,
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_routers_flavor_id ON routers (flavor_id);
CREATE INDEX ix_routers_gw_port_id ON routers (gw_port_id);
CREATE INDEX ix_routers_project_id ON routers (project_id);

CREATE TABLE auto_allocated_topologies (
    project_id VARCHAR(255) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    router_id VARCHAR(36),
    PRIMARY KEY (project_id),
    FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE,
    FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE SET NULL
);
CREATE INDEX ix_auto_allocated_topologies_network_id ON auto_allocated_topologies (network_id);
CREATE INDEX ix_auto_allocated_topologies_router_id ON auto_allocated_topologies (router_id);

CREATE TABLE bgp_peers (
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255) NOT NULL,
    auth_type VARCHAR(16) NOT NULL,
    password VARCHAR(255),
    peer_ip VARCHAR(64) NOT NULL,
    remote_as INTEGER NOT NULL,
    tenant_id VARCHAR(255),
    PRIMARY KEY (id)
);
CREATE INDEX ix_bgp_peers_tenant_id ON bgp_peers (tenant_id);

CREATE TABLE bgp_speakers (
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255) NOT NULL,
    local_as INTEGER NOT NULL,
    ip_version INTEGER NOT NULL,
    tenant_id VARCHAR(255),
    advertise_floating_ip_host_routes BOOLEAN NOT NULL,
    advertise_tenant_networks BOOLEAN NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX ix_bgp_speakers_tenant_id ON bgp_speakers (tenant_id);

CREATE TABLE bgp_speaker_dragent_bindings (
    agent_id VARCHAR(36) NOT NULL,
    bgp_speaker_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (agent_id),
    FOREIGN KEY (agent_id) REFERENCES agents (id) ON DELETE CASCADE,
    FOREIGN KEY (bgp_speaker_id) REFERENCES bgp_speakers (id) ON DELETE CASCADE
);
CREATE INDEX ix_bgp_speaker_dragent_bindings_bgp_speaker_id ON bgp_speaker_dragent_bindings (bgp_speaker_id);

CREATE TABLE bgp_speaker_network_bindings (
    bgp_speaker_id VARCHAR(36) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    ip_version INTEGER NOT NULL,
    PRIMARY KEY (network_id, bgp_speaker_id, ip_version),
    FOREIGN KEY (bgp_speaker_id) REFERENCES bgp_speakers (id) ON DELETE CASCADE,
    FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
);
CREATE INDEX ix_bgp_speaker_network_bindings_bgp_speaker_id ON bgp_speaker_network_bindings (bgp_speaker_id);

CREATE TABLE bgp_speaker_peer_bindings (
    bgp_speaker_id VARCHAR(36) NOT NULL,
    bgp_peer_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (bgp_speaker_id, bgp_peer_id),
    FOREIGN KEY (bgp_speaker_id) REFERENCES bgp_speakers (id) ON DELETE CASCADE,
    FOREIGN KEY (bgp_peer_id) REFERENCES bgp_peers (id) ON DELETE CASCADE
);
CREATE INDEX ix_bgp_speaker_peer_bindings_bgp_peer_id ON bgp_speaker_peer_bindings (bgp_peer_id);

CREATE TABLE conntrack_helpers (
    id VARCHAR(36) NOT NULL,
    router_id VARCHAR(36) NOT NULL,
    protocol VARCHAR(40) NOT NULL,
    port INTEGER NOT NULL,
    helper VARCHAR(64) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_conntrack_helpers0router_id0protocol0port0helper UNIQUE (router_id, protocol, port, helper),
    FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE
);

CREATE TABLE securitygroups (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    standard_attr_id BIGINT NOT NULL,
    stateful BOOLEAN NOT NULL DEFAULT 1,
    PRIMARY KEY (id),
    CONSTRAINT uniq_securitygroups0standard_attr_id UNIQUE (standard_attr_id),
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_securitygroups_project_id ON securitygroups (project_id);

CREATE TABLE default_security_group (
    project_id VARCHAR(255) NOT NULL,
    security_group_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (project_id),
    FOREIGN KEY (security_group_id) REFERENCES securitygroups (id) ON DELETE CASCADE
);
CREATE INDEX ix_default_security_group_security_group_id ON default_security_group (security_group_id);

CREATE TABLE networksegments (
    id VARCHAR(36) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    network_type VARCHAR(32) NOT NULL,
    physical_network VARCHAR(64),
    segmentation_id INTEGER,
    is_dynamic BOOLEAN NOT NULL DEFAULT 0,
    segment_index INTEGER NOT NULL DEFAULT 0,
    standard_attr_id BIGINT NOT NULL,
    name VARCHAR(255),
    PRIMARY KEY (id),
    CONSTRAINT uniq_networksegment0network_id0network_type0physnet0sidx UNIQUE (network_id, network_type, physical_network, segment_index),
    CONSTRAINT uniq_networksegments0standard_attr_id UNIQUE (standard_attr_id),
    FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE,
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);

CREATE TABLE subnets (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    network_id VARCHAR(36) NOT NULL,
    ip_version INTEGER NOT NULL,
    cidr VARCHAR(64) NOT NULL,
    gateway_ip VARCHAR(64),
    enable_dhcp BOOLEAN,
    ipv6_ra_mode VARCHAR(16) CHECK (ipv6_ra_mode IN ('slaac', 'dhcpv6-stateful', 'dhcpv6-stateless')),
    ipv6_address_mode VARCHAR(16) CHECK (ipv6_address_mode IN ('slaac', 'dhcpv6-stateful', 'dhcpv6-stateless')),
    subnetpool_id VARCHAR(36),
    standard_attr_id BIGINT NOT NULL,
    segment_id VARCHAR(36),
    PRIMARY KEY (id),
    CONSTRAINT uniq_subnets0standard_attr_id UNIQUE (standard_attr_id),
    FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE RESTRICT,
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE,
    FOREIGN KEY (segment_id) REFERENCES networksegments (id) ON DELETE RESTRICT
);
CREATE INDEX ix_subnets_project_id ON subnets (project_id);
CREATE INDEX ix_subnets_subnetpool_id ON subnets (subnetpool_id);
CREATE INDEX ix_subnets_network_id ON subnets (network_id);
CREATE INDEX ix_subnets_segment_id ON subnets (segment_id);

CREATE TABLE dnsnameservers (
    address VARCHAR(128) NOT NULL,
    subnet_id VARCHAR(36) NOT NULL,
    "order" INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (address, subnet_id),
    FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
);
CREATE INDEX ix_dnsnameservers_subnet_id ON dnsnameservers (subnet_id);

CREATE TABLE dvr_fip_gateway_port_network (
    network_id VARCHAR(36) NOT NULL,
    agent_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (network_id, agent_id),
    FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE,
    FOREIGN KEY (agent_id) REFERENCES agents (id) ON DELETE CASCADE
);
CREATE INDEX ix_dvr_fip_gateway_port_network_agent_id ON dvr_fip_gateway_port_network (agent_id);

CREATE TABLE dvr_host_macs (
    host VARCHAR(255) NOT NULL,
    mac_address VARCHAR(32) NOT NULL,
    PRIMARY KEY (host),
    CONSTRAINT mac_address UNIQUE (mac_address)
);

CREATE TABLE vni_allocations (
    id VARCHAR(36) NOT NULL,
    vni INTEGER NOT NULL,
    physnet VARCHAR(64) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_vni_allocations0vni0physnet UNIQUE (vni, physnet)
);

CREATE TABLE vlan_allocations (
    id VARCHAR(36) NOT NULL,
    vlan_id INTEGER NOT NULL,
    physnet VARCHAR(64) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_vlan_allocations0vlan_id0physnet UNIQUE (vlan_id, physnet)
);

CREATE TABLE vni_vlan_mapping (
    id VARCHAR(36) NOT NULL,
    vni_allocation_id VARCHAR(36) NOT NULL,
    vlan_allocation_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT vlan_allocation_id UNIQUE (vlan_allocation_id),
    CONSTRAINT vni_allocation_id UNIQUE (vni_allocation_id),
    FOREIGN KEY (vni_allocation_id) REFERENCES vni_allocations (id) ON DELETE RESTRICT,
    FOREIGN KEY (vlan_allocation_id) REFERENCES vlan_allocations (id) ON DELETE RESTRICT
);

CREATE TABLE evpn_l3_instances (
    router_id VARCHAR(36) NOT NULL,
    mapping_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (router_id),
    CONSTRAINT mapping_id UNIQUE (mapping_id),
    FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE RESTRICT,
    FOREIGN KEY (mapping_id) REFERENCES vni_vlan_mapping (id) ON DELETE CASCADE
);

CREATE TABLE evpn_networks (
    network_id VARCHAR(36) NOT NULL,
    router_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (network_id),
    FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE RESTRICT,
    FOREIGN KEY (router_id) REFERENCES evpn_l3_instances (router_id) ON DELETE RESTRICT
);
CREATE INDEX ix_evpn_networks_router_id ON evpn_networks (router_id);

CREATE TABLE evpn_advertised_ports (
    port_id VARCHAR(36) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (port_id),
    FOREIGN KEY (network_id) REFERENCES evpn_networks (network_id) ON DELETE CASCADE,
    FOREIGN KEY (port_id, network_id) REFERENCES ports (id, network_id) ON DELETE CASCADE
);
CREATE INDEX ix_evpn_advertised_ports_network_id ON evpn_advertised_ports (network_id);
CREATE INDEX ix_evpn_advertised_ports_port_id ON evpn_advertised_ports (port_id, network_id);

CREATE TABLE externalnetworks (
    network_id VARCHAR(36) NOT NULL,
    is_default BOOLEAN NOT NULL DEFAULT 0,
    PRIMARY KEY (network_id),
    FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE extradhcpopts (
    id VARCHAR(36) NOT NULL,
    port_id VARCHAR(36) NOT NULL,
    opt_name VARCHAR(64) NOT NULL,
    opt_value VARCHAR(255) NOT NULL,
    ip_version INTEGER NOT NULL DEFAULT 4,
    PRIMARY KEY (id),
    CONSTRAINT uniq_extradhcpopts0portid0optname0ipversion UNIQUE (port_id, opt_name, ip_version),
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
);

CREATE TABLE serviceprofiles (
    id VARCHAR(36) NOT NULL,
    description VARCHAR(1024),
    driver VARCHAR(1024) NOT NULL,
    enabled BOOLEAN NOT NULL DEFAULT 1,
    metainfo VARCHAR(4096),
    PRIMARY KEY (id)
) WITHOUT ROWID;

CREATE TABLE flavorserviceprofilebindings (
    service_profile_id VARCHAR(36) NOT NULL,
    flavor_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (service_profile_id, flavor_id),
    FOREIGN KEY (service_profile_id) REFERENCES serviceprofiles (id) ON DELETE CASCADE,
    FOREIGN KEY (flavor_id) REFERENCES flavors (id) ON DELETE CASCADE
);
CREATE INDEX flavorserviceprofilebindings_ibfk_2 ON flavorserviceprofilebindings (flavor_id);

CREATE TABLE floatingips (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    floating_ip_address VARCHAR(64) NOT NULL,
    floating_network_id VARCHAR(36) NOT NULL,
    floating_port_id VARCHAR(36) NOT NULL,
    fixed_port_id VARCHAR(36),
    fixed_ip_address VARCHAR(64),
    router_id VARCHAR(36),
    last_known_router_id VARCHAR(36),
    status VARCHAR(16),
    standard_attr_id BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_floatingips0floatingnetworkid0fixedportid0fixedipaddress UNIQUE (floating_network_id, fixed_port_id, fixed_ip_address),
    CONSTRAINT uniq_floatingips0standard_attr_id UNIQUE (standard_attr_id),
    FOREIGN KEY (fixed_port_id) REFERENCES ports (id) ON DELETE RESTRICT,
    FOREIGN KEY (floating_port_id) REFERENCES ports (id) ON DELETE CASCADE,
    FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE RESTRICT,
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_floatingips_fixed_port_id ON floatingips (fixed_port_id);
CREATE INDEX ix_floatingips_floating_port_id ON floatingips (floating_port_id);
CREATE INDEX ix_floatingips_project_id ON floatingips (project_id);
CREATE INDEX ix_floatingips_router_id ON floatingips (router_id);

CREATE TABLE floatingipdnses (
    floatingip_id VARCHAR(36) NOT NULL,
    dns_name VARCHAR(255) NOT NULL,
    dns_domain VARCHAR(255) NOT NULL,
    published_dns_name VARCHAR(255) NOT NULL,
    published_dns_domain VARCHAR(255) NOT NULL,
    PRIMARY KEY (floatingip_id),
    FOREIGN KEY (floatingip_id) REFERENCES floatingips (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE ha_router_agent_port_bindings (
    port_id VARCHAR(36) NOT NULL,
    router_id VARCHAR(36) NOT NULL,
    l3_agent_id VARCHAR(36),
    state VARCHAR(7) DEFAULT 'standby' CHECK (state IN ('active', 'standby', 'unknown')),
    PRIMARY KEY (port_id),
    CONSTRAINT uniq_ha_router_agent_port_bindings0port_id0l3_agent_id UNIQUE (router_id, l3_agent_id),
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE,
    FOREIGN KEY (l3_agent_id) REFERENCES agents (id) ON DELETE CASCADE
);
CREATE INDEX ix_ha_router_agent_port_bindings_l3_agent_id ON ha_router_agent_port_bindings (l3_agent_id);

CREATE TABLE ha_router_networks (
    project_id VARCHAR(255) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (project_id, network_id),
    CONSTRAINT uniq_ha_router_networks0project_id UNIQUE (project_id),
    FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
);
CREATE INDEX ix_ha_router_networks_network_id ON ha_router_networks (network_id);

CREATE TABLE ha_router_vrid_allocations (
    network_id VARCHAR(36) NOT NULL,
    vr_id INTEGER NOT NULL,
    PRIMARY KEY (network_id, vr_id),
    FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE ipallocationpools (
    id VARCHAR(36) NOT NULL,
    subnet_id VARCHAR(36),
    first_ip VARCHAR(64) NOT NULL,
    last_ip VARCHAR(64) NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
);
CREATE INDEX ix_ipallocationpools_subnet_id ON ipallocationpools (subnet_id);

CREATE TABLE ipallocations (
    port_id VARCHAR(36),
    ip_address VARCHAR(64) NOT NULL,
    subnet_id VARCHAR(36) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (ip_address, subnet_id, network_id),
    FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE,
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
);
CREATE INDEX ix_ipallocations_network_id ON ipallocations (network_id);
CREATE INDEX ix_ipallocations_port_id ON ipallocations (port_id);
CREATE INDEX ix_ipallocations_subnet_id ON ipallocations (subnet_id);

CREATE TABLE ipamsubnets (
    id VARCHAR(36) NOT NULL,
    neutron_subnet_id VARCHAR(36),
    PRIMARY KEY (id)
) WITHOUT ROWID;

CREATE TABLE ipamallocationpools (
    id VARCHAR(36) NOT NULL,
    ipam_subnet_id VARCHAR(36) NOT NULL,
    first_ip VARCHAR(64) NOT NULL,
    last_ip VARCHAR(64) NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY (ipam_subnet_id) REFERENCES ipamsubnets (id) ON DELETE CASCADE
);
CREATE INDEX ix_ipamallocationpools_ipam_subnet_id ON ipamallocationpools (ipam_subnet_id);

CREATE TABLE ipamallocations (
    ip_address VARCHAR(64) NOT NULL,
    status VARCHAR(36),
    ipam_subnet_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (ip_address, ipam_subnet_id),
    FOREIGN KEY (ipam_subnet_id) REFERENCES ipamsubnets (id) ON DELETE CASCADE
);
CREATE INDEX ix_ipamallocations_ipam_subnet_id ON ipamallocations (ipam_subnet_id);

CREATE TABLE local_ips (
    id VARCHAR(36) NOT NULL,
    standard_attr_id BIGINT NOT NULL,
    name VARCHAR(255),
    project_id VARCHAR(255),
    local_port_id VARCHAR(36) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    local_ip_address VARCHAR(64) NOT NULL,
    ip_mode VARCHAR(32) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT standard_attr_id UNIQUE (standard_attr_id),
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE,
    FOREIGN KEY (local_port_id) REFERENCES ports (id) ON DELETE RESTRICT
);
CREATE INDEX ix_local_ips_project_id ON local_ips (project_id);
CREATE INDEX ix_local_ips_local_port_id ON local_ips (local_port_id);

CREATE TABLE local_ip_associations (
    local_ip_id VARCHAR(36) NOT NULL,
    fixed_port_id VARCHAR(36) NOT NULL,
    fixed_ip VARCHAR(64) NOT NULL,
    PRIMARY KEY (local_ip_id, fixed_port_id),
    FOREIGN KEY (local_ip_id) REFERENCES local_ips (id) ON DELETE RESTRICT,
    FOREIGN KEY (fixed_port_id) REFERENCES ports (id) ON DELETE CASCADE
);
CREATE INDEX ix_local_ip_associations_fixed_port_id ON local_ip_associations (fixed_port_id);

CREATE TABLE logs (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    standard_attr_id BIGINT NOT NULL,
    name VARCHAR(255),
    resource_type VARCHAR(36) NOT NULL,
    resource_id VARCHAR(36),
    target_id VARCHAR(36),
    event VARCHAR(255) NOT NULL,
    enabled BOOLEAN,
    PRIMARY KEY (id),
    CONSTRAINT standard_attr_id UNIQUE (standard_attr_id),
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_logs_project_id ON logs (project_id);
CREATE INDEX ix_logs_resource_id ON logs (resource_id);
CREATE INDEX ix_logs_target_id ON logs (target_id);

CREATE TABLE meteringlabels (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    description VARCHAR(1024),
    shared BOOLEAN DEFAULT 0,
    PRIMARY KEY (id)
);
CREATE INDEX ix_meteringlabels_project_id ON meteringlabels (project_id);

CREATE TABLE meteringlabelrules (
    id VARCHAR(36) NOT NULL,
    direction VARCHAR(7) CHECK (direction IN ('ingress', 'egress')),
    remote_ip_prefix VARCHAR(64),
    metering_label_id VARCHAR(36) NOT NULL,
    excluded BOOLEAN DEFAULT 0,
    source_ip_prefix VARCHAR(64),
    destination_ip_prefix VARCHAR(64),
    PRIMARY KEY (id),
    FOREIGN KEY (metering_label_id) REFERENCES meteringlabels (id) ON DELETE CASCADE
);
CREATE INDEX ix_meteringlabelrules_metering_label_id ON meteringlabelrules (metering_label_id);

CREATE TABLE ml2_distributed_port_bindings (
    port_id VARCHAR(36) NOT NULL,
    host VARCHAR(255) NOT NULL,
    router_id VARCHAR(36),
    vif_type VARCHAR(64) NOT NULL,
    vif_details VARCHAR(4095) NOT NULL DEFAULT '',
    vnic_type VARCHAR(64) NOT NULL DEFAULT 'normal',
    profile VARCHAR(4095) NOT NULL DEFAULT '',
    status VARCHAR(16) NOT NULL,
    PRIMARY KEY (port_id, host),
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE ml2_flat_allocations (
    physical_network VARCHAR(64) NOT NULL,
    PRIMARY KEY (physical_network)
) WITHOUT ROWID;

CREATE TABLE ml2_geneve_allocations (
    geneve_vni INTEGER NOT NULL,
    allocated BOOLEAN NOT NULL DEFAULT 0,
    PRIMARY KEY (geneve_vni)
);
CREATE INDEX ix_ml2_geneve_allocations_allocated ON ml2_geneve_allocations (allocated);

CREATE TABLE ml2_geneve_endpoints (
    ip_address VARCHAR(64) NOT NULL,
    host VARCHAR(255),
    PRIMARY KEY (ip_address),
    CONSTRAINT unique_ml2_geneve_endpoints0host UNIQUE (host)
);

CREATE TABLE ml2_gre_allocations (
    gre_id INTEGER NOT NULL,
    allocated BOOLEAN NOT NULL DEFAULT 0,
    PRIMARY KEY (gre_id)
);
CREATE INDEX ix_ml2_gre_allocations_allocated ON ml2_gre_allocations (allocated);

CREATE TABLE ml2_gre_endpoints (
    ip_address VARCHAR(64) NOT NULL,
    host VARCHAR(255),
    PRIMARY KEY (ip_address),
    CONSTRAINT unique_ml2_gre_endpoints0host UNIQUE (host)
);

CREATE TABLE ml2_port_binding_levels (
    port_id VARCHAR(36) NOT NULL,
    host VARCHAR(255) NOT NULL,
    level INTEGER NOT NULL,
    driver VARCHAR(64),
    segment_id VARCHAR(36),
    PRIMARY KEY (port_id, host, level),
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    FOREIGN KEY (segment_id) REFERENCES networksegments (id) ON DELETE SET NULL
);
CREATE INDEX ml2_port_binding_levels_ibfk_2 ON ml2_port_binding_levels (segment_id);

CREATE TABLE ml2_port_bindings (
    port_id VARCHAR(36) NOT NULL,
    host VARCHAR(255) NOT NULL DEFAULT '',
    vif_type VARCHAR(64) NOT NULL,
    vnic_type VARCHAR(64) NOT NULL DEFAULT 'normal',
    profile VARCHAR(4095) NOT NULL DEFAULT '',
    vif_details VARCHAR(4095) NOT NULL DEFAULT '',
    status VARCHAR(16) NOT NULL DEFAULT 'ACTIVE',
    PRIMARY KEY (port_id, host),
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE ml2_vlan_allocations (
    physical_network VARCHAR(64) NOT NULL,
    vlan_id INTEGER NOT NULL,
    allocated BOOLEAN NOT NULL,
    PRIMARY KEY (physical_network, vlan_id)
);
CREATE INDEX ix_ml2_vlan_allocations_physical_network_allocated ON ml2_vlan_allocations (physical_network, allocated);

CREATE TABLE ml2_vxlan_allocations (
    vxlan_vni INTEGER NOT NULL,
    allocated BOOLEAN NOT NULL DEFAULT 0,
    PRIMARY KEY (vxlan_vni)
);
CREATE INDEX ix_ml2_vxlan_allocations_allocated ON ml2_vxlan_allocations (allocated);

CREATE TABLE ml2_vxlan_endpoints (
    ip_address VARCHAR(64) NOT NULL,
    udp_port INTEGER NOT NULL,
    host VARCHAR(255),
    PRIMARY KEY (ip_address),
    CONSTRAINT unique_ml2_vxlan_endpoints0host UNIQUE (host)
);

CREATE TABLE ndp_proxies (
    project_id VARCHAR(255),
    name VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    router_id VARCHAR(36) NOT NULL,
    port_id VARCHAR(36) NOT NULL,
    ip_address VARCHAR(64) NOT NULL,
    standard_attr_id BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT standard_attr_id UNIQUE (standard_attr_id),
    CONSTRAINT uniq_ndp_proxy0router_id0ip_address UNIQUE (router_id, ip_address),
    FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE,
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_ndp_proxies_project_id ON ndp_proxies (project_id);
CREATE INDEX ix_ndp_proxies_port_id ON ndp_proxies (port_id);

CREATE TABLE network_segment_ranges (
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    "default" BOOLEAN NOT NULL,
    shared BOOLEAN NOT NULL,
    project_id VARCHAR(255),
    network_type VARCHAR(6) NOT NULL CHECK (network_type IN ('vlan', 'vxlan', 'gre', 'geneve')),
    physical_network VARCHAR(64) NOT NULL DEFAULT '',
    minimum INTEGER,
    maximum INTEGER,
    standard_attr_id BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT standard_attr_id UNIQUE (standard_attr_id),
    CONSTRAINT uniq_network_segment_ranges UNIQUE ("default", network_type, physical_network, minimum, maximum),
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);

CREATE TABLE network_subnet_lock (
    network_id VARCHAR(36) NOT NULL,
    subnet_id VARCHAR(36),
    PRIMARY KEY (network_id),
    FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE networkdhcpagentbindings (
    network_id VARCHAR(36) NOT NULL,
    dhcp_agent_id VARCHAR(36) NOT NULL,
    binding_index INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (network_id, dhcp_agent_id),
    CONSTRAINT uniq_network_dhcp_agent_binding0network_id0binding_index0 UNIQUE (network_id, binding_index),
    FOREIGN KEY (dhcp_agent_id) REFERENCES agents (id) ON DELETE CASCADE,
    FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
);
CREATE INDEX ix_networkdhcpagentbindings_dhcp_agent_id ON networkdhcpagentbindings (dhcp_agent_id);

CREATE TABLE networkdnsdomains (
    network_id VARCHAR(36) NOT NULL,
    dns_domain VARCHAR(255) NOT NULL,
    PRIMARY KEY (network_id),
    FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE networkpvlan (
    network_id VARCHAR(36) NOT NULL,
    pvlan BOOLEAN NOT NULL DEFAULT 0,
    PRIMARY KEY (network_id),
    FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE networkrbacs (
    id VARCHAR(36) NOT NULL,
    object_id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255),
    target_project VARCHAR(255) NOT NULL,
    action VARCHAR(255) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_networkrbacs0target_project0object_id0action UNIQUE (target_project, object_id, action),
    FOREIGN KEY (object_id) REFERENCES networks (id) ON DELETE CASCADE
);
CREATE INDEX ix_networkrbacs_action ON networkrbacs (action);
CREATE INDEX ix_networkrbacs_project_id ON networkrbacs (project_id);
CREATE INDEX ix_networkrbacs_target_project ON networkrbacs (target_project);
CREATE INDEX ix_networkrbacs_object_id ON networkrbacs (object_id);

CREATE TABLE networksecuritybindings (
    network_id VARCHAR(36) NOT NULL,
    port_security_enabled BOOLEAN NOT NULL,
    PRIMARY KEY (network_id),
    FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE ovn_hash_ring (
    node_uuid VARCHAR(36) NOT NULL,
    group_name VARCHAR(256) NOT NULL,
    hostname VARCHAR(256) NOT NULL,
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL,
    PRIMARY KEY (node_uuid, group_name)
);
CREATE INDEX ix_ovn_hash_ring_group_name ON ovn_hash_ring (group_name);
CREATE INDEX ix_ovn_hash_ring_node_uuid ON ovn_hash_ring (node_uuid);

CREATE TABLE ovn_revision_numbers (
    standard_attr_id BIGINT,
    resource_uuid VARCHAR(36) NOT NULL,
    resource_type VARCHAR(36) NOT NULL,
    revision_number BIGINT NOT NULL DEFAULT 0,
    created_at DATETIME NOT NULL,
    updated_at TIMESTAMP,
    PRIMARY KEY (resource_uuid, resource_type),
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE SET NULL
);
CREATE INDEX ix_ovn_revision_numbers_resource_type ON ovn_revision_numbers (resource_type);
CREATE INDEX ix_ovn_revision_numbers_resource_uuid ON ovn_revision_numbers (resource_uuid);
CREATE INDEX ix_ovn_revision_numbers_standard_attr_id ON ovn_revision_numbers (standard_attr_id);

CREATE TABLE portdataplanestatuses (
    port_id VARCHAR(36) NOT NULL,
    data_plane_status VARCHAR(16),
    PRIMARY KEY (port_id),
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE portdeviceprofiles (
    port_id VARCHAR(36) NOT NULL,
    device_profile VARCHAR(255),
    PRIMARY KEY (port_id),
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE portdnses (
    port_id VARCHAR(36) NOT NULL,
    current_dns_name VARCHAR(255) NOT NULL,
    current_dns_domain VARCHAR(255) NOT NULL,
    previous_dns_name VARCHAR(255) NOT NULL,
    previous_dns_domain VARCHAR(255) NOT NULL,
    dns_name VARCHAR(255) NOT NULL,
    dns_domain VARCHAR(255) NOT NULL DEFAULT '',
    PRIMARY KEY (port_id),
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE portforwardings (
    id VARCHAR(36) NOT NULL,
    floatingip_id VARCHAR(36) NOT NULL,
    internal_neutron_port_id VARCHAR(36) NOT NULL,
    protocol VARCHAR(40) NOT NULL,
    standard_attr_id BIGINT NOT NULL,
    internal_ip_address VARCHAR(64) NOT NULL,
    internal_port_start INTEGER NOT NULL,
    internal_port_end INTEGER NOT NULL,
    external_port_start INTEGER NOT NULL,
    external_port_end INTEGER NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_portforwardings0standard_attr_id UNIQUE (standard_attr_id),
    CONSTRAINT uniq_port_forwardings0floatingip_id0protocol0external_ports UNIQUE (floatingip_id, protocol, external_port_start, external_port_end),
    CONSTRAINT uniq_port_forwardings0ptcl0in_prt_id0in_ip_addr0in_prts UNIQUE (protocol, internal_neutron_port_id, internal_ip_address, internal_port_start, internal_port_end),
    FOREIGN KEY (floatingip_id) REFERENCES floatingips (id) ON DELETE CASCADE,
    FOREIGN KEY (internal_neutron_port_id) REFERENCES ports (id) ON DELETE CASCADE,
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX portforwardings_ibfk_2 ON portforwardings (internal_neutron_port_id);

CREATE TABLE porthardwareoffloadtype (
    port_id VARCHAR(36) NOT NULL,
    hardware_offload_type VARCHAR(255),
    PRIMARY KEY (port_id),
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
);
CREATE INDEX ix_porthardwareoffloadtype_port_id ON porthardwareoffloadtype (port_id);

CREATE TABLE porthints (
    port_id VARCHAR(36) NOT NULL,
    hints VARCHAR(4095) NOT NULL,
    PRIMARY KEY (port_id),
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE portnumaaffinitypolicies (
    port_id VARCHAR(36) NOT NULL,
    numa_affinity_policy VARCHAR(9) CHECK (numa_affinity_policy IN ('required', 'preferred', 'legacy', 'socket')),
    PRIMARY KEY (port_id),
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE portpvlan (
    port_id VARCHAR(36) NOT NULL,
    pvlan_type VARCHAR(11) NOT NULL CHECK (pvlan_type IN ('isolated', 'promiscuous', 'community')),
    pvlan_community VARCHAR(255),
    PRIMARY KEY (port_id),
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE portsecuritybindings (
    port_id VARCHAR(36) NOT NULL,
    port_security_enabled BOOLEAN NOT NULL,
    PRIMARY KEY (port_id),
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE porttrusted (
    port_id VARCHAR(36) NOT NULL,
    trusted BOOLEAN,
    PRIMARY KEY (port_id),
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE portuplinkstatuspropagation (
    port_id VARCHAR(36) NOT NULL,
    propagate_uplink_status BOOLEAN NOT NULL DEFAULT 1,
    PRIMARY KEY (port_id),
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE providerresourceassociations (
    provider_name VARCHAR(255) NOT NULL,
    resource_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (provider_name, resource_id),
    CONSTRAINT resource_id UNIQUE (resource_id)
);

CREATE TABLE provisioningblocks (
    standard_attr_id BIGINT NOT NULL,
    entity VARCHAR(255) NOT NULL,
    PRIMARY KEY (standard_attr_id, entity),
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE qos_policies (
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    project_id VARCHAR(255),
    standard_attr_id BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_qos_policies0standard_attr_id UNIQUE (standard_attr_id),
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_qos_policies_project_id ON qos_policies (project_id);

CREATE TABLE qos_bandwidth_limit_rules (
    id VARCHAR(36) NOT NULL,
    qos_policy_id VARCHAR(36) NOT NULL,
    max_kbps INTEGER,
    max_burst_kbps INTEGER,
    direction VARCHAR(7) NOT NULL DEFAULT 'egress' CHECK (direction IN ('egress', 'ingress')),
    PRIMARY KEY (id),
    CONSTRAINT qos_bandwidth_rules0qos_policy_id0direction UNIQUE (qos_policy_id, direction),
    FOREIGN KEY (qos_policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE
);

CREATE TABLE qos_dscp_marking_rules (
    id VARCHAR(36) NOT NULL,
    qos_policy_id VARCHAR(36) NOT NULL,
    dscp_mark INTEGER,
    PRIMARY KEY (id),
    CONSTRAINT qos_policy_id UNIQUE (qos_policy_id),
    FOREIGN KEY (qos_policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE
);

CREATE TABLE qos_fip_policy_bindings (
    policy_id VARCHAR(36) NOT NULL,
    fip_id VARCHAR(36) NOT NULL,
    CONSTRAINT fip_id UNIQUE (fip_id),
    FOREIGN KEY (policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE,
    FOREIGN KEY (fip_id) REFERENCES floatingips (id) ON DELETE CASCADE
);
CREATE INDEX ix_qos_fip_policy_bindings_policy_id ON qos_fip_policy_bindings (policy_id);

CREATE TABLE qos_minimum_bandwidth_rules (
    id VARCHAR(36) NOT NULL,
    qos_policy_id VARCHAR(36) NOT NULL,
    min_kbps INTEGER,
    direction VARCHAR(7) NOT NULL DEFAULT 'egress' CHECK (direction IN ('egress', 'ingress')),
    PRIMARY KEY (id),
    CONSTRAINT qos_minimum_bandwidth_rules0qos_policy_id0direction UNIQUE (qos_policy_id, direction),
    FOREIGN KEY (qos_policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE
);
CREATE INDEX ix_qos_minimum_bandwidth_rules_qos_policy_id ON qos_minimum_bandwidth_rules (qos_policy_id);

CREATE TABLE qos_minimum_packet_rate_rules (
    id VARCHAR(36) NOT NULL,
    qos_policy_id VARCHAR(36),
    min_kpps INTEGER NOT NULL,
    direction VARCHAR(7) NOT NULL DEFAULT 'egress' CHECK (direction IN ('any', 'ingress', 'egress')),
    PRIMARY KEY (id),
    CONSTRAINT qos_minimum_packet_rate_rules0qos_policy_id0direction UNIQUE (qos_policy_id, direction),
    FOREIGN KEY (qos_policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE
);
CREATE INDEX ix_qos_minimum_packet_rate_rules_qos_policy_id ON qos_minimum_packet_rate_rules (qos_policy_id);

CREATE TABLE qos_network_policy_bindings (
    policy_id VARCHAR(36) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    CONSTRAINT network_id UNIQUE (network_id),
    FOREIGN KEY (policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE,
    FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
);
CREATE INDEX ix_qos_network_policy_bindings_policy_id ON qos_network_policy_bindings (policy_id);

CREATE TABLE qos_packet_rate_limit_rules (
    id VARCHAR(36) NOT NULL,
    qos_policy_id VARCHAR(36) NOT NULL,
    max_kpps INTEGER,
    max_burst_kpps INTEGER,
    direction VARCHAR(7) NOT NULL DEFAULT 'egress' CHECK (direction IN ('egress', 'ingress')),
    PRIMARY KEY (id),
    CONSTRAINT qos_packet_rate_limit_rules0qos_policy_id0direction UNIQUE (qos_policy_id, direction),
    FOREIGN KEY (qos_policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE
);
CREATE INDEX ix_qos_packet_rate_limit_rules_qos_policy_id ON qos_packet_rate_limit_rules (qos_policy_id);

CREATE TABLE qos_policies_default (
    qos_policy_id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255) NOT NULL,
    PRIMARY KEY (project_id),
    FOREIGN KEY (qos_policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE
);
CREATE INDEX ix_qos_policies_default_qos_policy_id ON qos_policies_default (qos_policy_id);

CREATE TABLE qos_port_policy_bindings (
    policy_id VARCHAR(36) NOT NULL,
    port_id VARCHAR(36) NOT NULL,
    CONSTRAINT port_id UNIQUE (port_id),
    FOREIGN KEY (policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE,
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
);
CREATE INDEX ix_qos_port_policy_bindings_policy_id ON qos_port_policy_bindings (policy_id);

CREATE TABLE qos_router_gw_policy_bindings (
    policy_id VARCHAR(36) NOT NULL,
    router_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (policy_id, router_id),
    CONSTRAINT router_id UNIQUE (router_id),
    FOREIGN KEY (policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE,
    FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE
);

CREATE TABLE qospolicyrbacs (
    id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255),
    target_project VARCHAR(255) NOT NULL,
    action VARCHAR(255) NOT NULL,
    object_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_qospolicyrbacs0target_project0object_id0action UNIQUE (target_project, object_id, action),
    FOREIGN KEY (object_id) REFERENCES qos_policies (id) ON DELETE CASCADE
);
CREATE INDEX ix_qospolicyrbacs_action ON qospolicyrbacs (action);
CREATE INDEX ix_qospolicyrbacs_project_id ON qospolicyrbacs (project_id);
CREATE INDEX ix_qospolicyrbacs_target_project ON qospolicyrbacs (target_project);
CREATE INDEX ix_qospolicyrbacs_object_id ON qospolicyrbacs (object_id);

CREATE TABLE quotas (
    id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255),
    resource VARCHAR(255),
    "limit" INTEGER,
    PRIMARY KEY (id),
    CONSTRAINT uniq_quotas0project_id0resource UNIQUE (project_id, resource)
);
CREATE INDEX ix_quotas_project_id ON quotas (project_id);

CREATE TABLE quotausages (
    project_id VARCHAR(255) NOT NULL,
    resource VARCHAR(255) NOT NULL,
    dirty BOOLEAN NOT NULL DEFAULT 0,
    in_use INTEGER NOT NULL DEFAULT 0,
    reserved INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (project_id, resource)
) WITHOUT ROWID;

CREATE TABLE reservations (
    id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255),
    expiration DATETIME,
    PRIMARY KEY (id)
) WITHOUT ROWID;

CREATE TABLE resourcedeltas (
    resource VARCHAR(255) NOT NULL,
    reservation_id VARCHAR(36) NOT NULL,
    amount INTEGER,
    PRIMARY KEY (resource, reservation_id),
    FOREIGN KEY (reservation_id) REFERENCES reservations (id) ON DELETE CASCADE
);
CREATE INDEX ix_resourcedeltas_reservation_id ON resourcedeltas (reservation_id);

CREATE TABLE router_extra_attributes (
    router_id VARCHAR(36) NOT NULL,
    distributed BOOLEAN NOT NULL DEFAULT 0,
    service_router BOOLEAN NOT NULL DEFAULT 0,
    ha BOOLEAN NOT NULL DEFAULT 0,
    ha_vr_id INTEGER,
    availability_zone_hints VARCHAR(255),
    enable_default_route_ecmp BOOLEAN NOT NULL DEFAULT 0,
    enable_default_route_bfd BOOLEAN NOT NULL DEFAULT 0,
    PRIMARY KEY (router_id),
    FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE router_ndp_proxy_state (
    router_id VARCHAR(36) NOT NULL,
    enable_ndp_proxy BOOLEAN NOT NULL,
    PRIMARY KEY (router_id),
    FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE routerl3agentbindings (
    router_id VARCHAR(36) NOT NULL,
    l3_agent_id VARCHAR(36) NOT NULL,
    binding_index INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (router_id, l3_agent_id),
    CONSTRAINT uniq_router_l3_agent_binding0router_id0binding_index0 UNIQUE (router_id, binding_index),
    FOREIGN KEY (l3_agent_id) REFERENCES agents (id) ON DELETE CASCADE,
    FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE
);
CREATE INDEX ix_routerl3agentbindings_l3_agent_id ON routerl3agentbindings (l3_agent_id);

CREATE TABLE routerports (
    router_id VARCHAR(36) NOT NULL,
    port_id VARCHAR(36) NOT NULL,
    port_type VARCHAR(255),
    PRIMARY KEY (router_id, port_id),
    CONSTRAINT uniq_routerports0port_id UNIQUE (port_id),
    FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE,
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
);

CREATE TABLE routerroutes (
    destination VARCHAR(64) NOT NULL,
    nexthop VARCHAR(64) NOT NULL,
    router_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (destination, nexthop, router_id),
    FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE
);
CREATE INDEX ix_routerroutes_router_id ON routerroutes (router_id);

CREATE TABLE security_groups_default_statefulness (
    id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255),
    stateful BOOLEAN NOT NULL DEFAULT 1,
    PRIMARY KEY (id),
    CONSTRAINT project_id UNIQUE (project_id)
);

CREATE TABLE securitygroupdefaultrules (
    id VARCHAR(36) NOT NULL,
    standard_attr_id BIGINT NOT NULL,
    remote_group_id VARCHAR(36),
    remote_address_group_id VARCHAR(36),
    direction VARCHAR(7) NOT NULL CHECK (direction IN ('ingress', 'egress')),
    ethertype VARCHAR(40),
    protocol VARCHAR(40),
    port_range_min INTEGER,
    port_range_max INTEGER,
    remote_ip_prefix VARCHAR(255),
    used_in_default_sg BOOLEAN NOT NULL DEFAULT 0,
    used_in_non_default_sg BOOLEAN NOT NULL DEFAULT 1,
    PRIMARY KEY (id),
    CONSTRAINT standard_attr_id UNIQUE (standard_attr_id),
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);

CREATE TABLE securitygroupportbindings (
    port_id VARCHAR(36) NOT NULL,
    security_group_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (port_id, security_group_id),
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    FOREIGN KEY (security_group_id) REFERENCES securitygroups (id) ON DELETE CASCADE
);
CREATE INDEX securitygroupportbindings_ibfk_2 ON securitygroupportbindings (security_group_id);

CREATE TABLE securitygrouprbacs (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    target_project VARCHAR(255) NOT NULL,
    action VARCHAR(255) NOT NULL,
    object_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_securitygrouprbacs0target_project0object_id0action UNIQUE (target_project, object_id, action),
    FOREIGN KEY (object_id) REFERENCES securitygroups (id) ON DELETE CASCADE
);
CREATE INDEX ix_securitygrouprbacs_action ON securitygrouprbacs (action);
CREATE INDEX ix_securitygrouprbacs_project_id ON securitygrouprbacs (project_id);
CREATE INDEX ix_securitygrouprbacs_target_project ON securitygrouprbacs (target_project);
CREATE INDEX ix_securitygrouprbacs_object_id ON securitygrouprbacs (object_id);

CREATE TABLE securitygrouprules (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    security_group_id VARCHAR(36) NOT NULL,
    remote_group_id VARCHAR(36),
    direction VARCHAR(7) CHECK (direction IN ('ingress', 'egress')),
    ethertype VARCHAR(40),
    protocol VARCHAR(40),
    port_range_min INTEGER,
    port_range_max INTEGER,
    remote_ip_prefix VARCHAR(255),
    standard_attr_id BIGINT NOT NULL,
    remote_address_group_id VARCHAR(36),
    PRIMARY KEY (id),
    CONSTRAINT uniq_securitygrouprules0standard_attr_id UNIQUE (standard_attr_id),
    FOREIGN KEY (security_group_id) REFERENCES securitygroups (id) ON DELETE CASCADE,
    FOREIGN KEY (remote_group_id) REFERENCES securitygroups (id) ON DELETE CASCADE,
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE,
    FOREIGN KEY (remote_address_group_id) REFERENCES address_groups (id) ON DELETE CASCADE
);
CREATE INDEX ix_securitygrouprules_project_id ON securitygrouprules (project_id);
CREATE INDEX ix_securitygrouprules_remote_address_group_id ON securitygrouprules (remote_address_group_id);
CREATE INDEX ix_securitygrouprules_remote_group_id ON securitygrouprules (remote_group_id);
CREATE INDEX ix_securitygrouprules_security_group_id ON securitygrouprules (security_group_id);

CREATE TABLE segmenthostmappings (
    segment_id VARCHAR(36) NOT NULL,
    host VARCHAR(255) NOT NULL,
    PRIMARY KEY (segment_id, host),
    FOREIGN KEY (segment_id) REFERENCES networksegments (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE subnet_bgp_leak_routes (
    subnet_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (subnet_id),
    FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE subnet_dns_publish_fixed_ips (
    subnet_id VARCHAR(36) NOT NULL,
    dns_publish_fixed_ip BOOLEAN NOT NULL DEFAULT 0,
    PRIMARY KEY (subnet_id),
    FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE subnet_service_types (
    subnet_id VARCHAR(36) NOT NULL,
    service_type VARCHAR(255) NOT NULL,
    PRIMARY KEY (subnet_id, service_type),
    FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE TABLE subnetpools (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    ip_version INTEGER NOT NULL,
    default_prefixlen INTEGER NOT NULL,
    min_prefixlen INTEGER NOT NULL,
    max_prefixlen INTEGER NOT NULL,
    shared BOOLEAN NOT NULL DEFAULT 0,
    default_quota INTEGER,
    hash VARCHAR(36) NOT NULL DEFAULT '',
    address_scope_id VARCHAR(36),
    is_default BOOLEAN NOT NULL DEFAULT 0,
    standard_attr_id BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_subnetpools0standard_attr_id UNIQUE (standard_attr_id),
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_subnetpools_address_scope_id ON subnetpools (address_scope_id);
CREATE INDEX ix_subnetpools_project_id ON subnetpools (project_id);

CREATE TABLE subnetpoolprefixes (
    cidr VARCHAR(64) NOT NULL,
    subnetpool_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (cidr, subnetpool_id),
    FOREIGN KEY (subnetpool_id) REFERENCES subnetpools (id) ON DELETE CASCADE
);
CREATE INDEX ix_subnetpoolprefixes_subnetpool_id ON subnetpoolprefixes (subnetpool_id);

CREATE TABLE subnetpoolrbacs (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    target_project VARCHAR(255) NOT NULL,
    action VARCHAR(255) NOT NULL,
    object_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_subnetpoolrbacs0target_project0object_id0action UNIQUE (target_project, object_id, action),
    FOREIGN KEY (object_id) REFERENCES subnetpools (id) ON DELETE CASCADE
);
CREATE INDEX ix_subnetpoolrbacs_action ON subnetpoolrbacs (action);
CREATE INDEX ix_subnetpoolrbacs_project_id ON subnetpoolrbacs (project_id);
CREATE INDEX ix_subnetpoolrbacs_target_project ON subnetpoolrbacs (target_project);
CREATE INDEX ix_subnetpoolrbacs_object_id ON subnetpoolrbacs (object_id);

CREATE TABLE subnetroutes (
    destination VARCHAR(64) NOT NULL,
    nexthop VARCHAR(64) NOT NULL,
    subnet_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (destination, nexthop, subnet_id),
    FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
);
CREATE INDEX ix_subnetroutes_subnet_id ON subnetroutes (subnet_id);

CREATE TABLE trunks (
    admin_state_up BOOLEAN NOT NULL DEFAULT 1,
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    port_id VARCHAR(36) NOT NULL,
    status VARCHAR(16) NOT NULL DEFAULT 'ACTIVE',
    standard_attr_id BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT port_id UNIQUE (port_id),
    CONSTRAINT standard_attr_id UNIQUE (standard_attr_id),
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_trunks_project_id ON trunks (project_id);

CREATE TABLE subports (
    port_id VARCHAR(36) NOT NULL,
    trunk_id VARCHAR(36) NOT NULL,
    segmentation_type VARCHAR(32) NOT NULL,
    segmentation_id INTEGER NOT NULL,
    PRIMARY KEY (port_id),
    CONSTRAINT uniq_subport0trunk_id0segmentation_type0segmentation_id UNIQUE (trunk_id, segmentation_type, segmentation_id),
    FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    FOREIGN KEY (trunk_id) REFERENCES trunks (id) ON DELETE CASCADE
);

CREATE TABLE tags (
    standard_attr_id BIGINT NOT NULL,
    tag VARCHAR(255) NOT NULL,
    PRIMARY KEY (standard_attr_id, tag),
    FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
) WITHOUT ROWID;

-- The rules that each new security group begins with. Their ids are random, as in the reference.
INSERT INTO standardattributes (id, resource_type, description) VALUES
    (1, 'securitygroupdefaultrules', 'Legacy default SG rule for egress traffic'),
    (2, 'securitygroupdefaultrules', 'Legacy default SG rule for egress traffic'),
    (3, 'securitygroupdefaultrules', 'Legacy default SG rule for ingress traffic'),
    (4, 'securitygroupdefaultrules', 'Legacy default SG rule for ingress traffic');
INSERT INTO securitygroupdefaultrules (
    id, standard_attr_id, remote_group_id, direction, ethertype, used_in_default_sg, used_in_non_default_sg
)
SELECT
    lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-'
        || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))),
    rule.column1, rule.column2, rule.column3, rule.column4, 1, rule.column5
FROM (VALUES
    (1, NULL, 'egress', 'IPv4', 1),
    (2, NULL, 'egress', 'IPv6', 1),
    (3, 'PARENT', 'ingress', 'IPv4', 0),
    (4, 'PARENT', 'ingress', 'IPv6', 0)
) AS rule;
