-- The schema of Neutron 29 (2026.2) on MariaDB and MySQL, as its own migrations make it: types, keys, references and their
-- names. Texts take the character set of the database, but for tags, which are told apart by case and accent.

CREATE TABLE standardattributes (
    id BIGINT NOT NULL AUTO_INCREMENT,
    resource_type VARCHAR(255) NOT NULL,
    created_at DATETIME,
    updated_at DATETIME,
    description VARCHAR(255),
    revision_number BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (id)
) ENGINE=InnoDB;

CREATE TABLE address_groups (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    standard_attr_id BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_address_groups0standard_attr_id UNIQUE (standard_attr_id),
    KEY ix_address_groups_project_id (project_id),
    CONSTRAINT address_groups_ibfk_1 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE address_associations (
    address VARCHAR(64) NOT NULL,
    address_group_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (address, address_group_id),
    KEY address_group_id (address_group_id),
    CONSTRAINT address_associations_ibfk_1 FOREIGN KEY (address_group_id) REFERENCES address_groups (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE address_scopes (
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255) NOT NULL,
    project_id VARCHAR(255),
    shared BOOLEAN NOT NULL DEFAULT 0,
    ip_version INTEGER NOT NULL,
    PRIMARY KEY (id),
    KEY ix_address_scopes_project_id (project_id)
) ENGINE=InnoDB;

CREATE TABLE addressgrouprbacs (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    target_project VARCHAR(255) NOT NULL,
    action VARCHAR(255) NOT NULL,
    object_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_addressgrouprbacs0target_project0object_id0action UNIQUE (target_project, object_id, action),
    KEY object_id (object_id),
    KEY ix_addressgrouprbacs_project_id (project_id),
    KEY ix_addressgrouprbacs_action (action),
    KEY ix_addressgrouprbacs_target_project (target_project),
    CONSTRAINT addressgrouprbacs_ibfk_1 FOREIGN KEY (object_id) REFERENCES address_groups (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE addressscoperbacs (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    target_project VARCHAR(255) NOT NULL,
    action VARCHAR(255) NOT NULL,
    object_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_addressscoperbacs0target_project0object_id0action UNIQUE (target_project, object_id, action),
    KEY object_id (object_id),
    KEY ix_addressscoperbacs_project_id (project_id),
    KEY ix_addressscoperbacs_action (action),
    KEY ix_addressscoperbacs_target_project (target_project),
    CONSTRAINT addressscoperbacs_ibfk_1 FOREIGN KEY (object_id) REFERENCES address_scopes (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE agents (
    id VARCHAR(36) NOT NULL,
    agent_type VARCHAR(255) NOT NULL,
    "binary" VARCHAR(255) NOT NULL,
    topic VARCHAR(255) NOT NULL,
    host VARCHAR(255) NOT NULL,
    admin_state_up BOOLEAN NOT NULL DEFAULT 1,
    created_at DATETIME NOT NULL,
    started_at DATETIME NOT NULL,
    heartbeat_timestamp DATETIME NOT NULL,
    description VARCHAR(255),
    configurations VARCHAR(4095) NOT NULL,
    "load" INTEGER NOT NULL DEFAULT 0,
    availability_zone VARCHAR(255),
    resource_versions VARCHAR(8191),
    resources_synced BOOLEAN,
    PRIMARY KEY (id),
    CONSTRAINT uniq_agents0agent_type0host UNIQUE (agent_type, host),
    KEY ix_agents_host (host)
) ENGINE=InnoDB;

CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    PRIMARY KEY (version_num)
) ENGINE=InnoDB;

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
    KEY ix_networks_project_id (project_id),
    CONSTRAINT networks_ibfk_1 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
) ENGINE=InnoDB;

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
    CONSTRAINT uniq_ports0network_id0mac_address UNIQUE (network_id, mac_address),
    CONSTRAINT uniq_ports0standard_attr_id UNIQUE (standard_attr_id),
    CONSTRAINT uniq_ports0id0network_id UNIQUE (id, network_id),
    KEY ix_ports_network_id_device_owner (network_id, device_owner),
    KEY ix_ports_device_id (device_id),
    KEY ix_ports_project_id (project_id),
    KEY ix_ports_network_id (network_id),
    CONSTRAINT ports_ibfk_1 FOREIGN KEY (network_id) REFERENCES networks (id),
    CONSTRAINT ports_ibfk_2 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE allowedaddresspairs (
    port_id VARCHAR(36) NOT NULL,
    mac_address VARCHAR(32) NOT NULL,
    ip_address VARCHAR(64) NOT NULL,
    PRIMARY KEY (port_id, mac_address, ip_address),
    CONSTRAINT allowedaddresspairs_ibfk_1 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE flavors (
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    description VARCHAR(1024),
    enabled BOOLEAN NOT NULL DEFAULT 1,
    service_type VARCHAR(36),
    PRIMARY KEY (id)
) ENGINE=InnoDB;

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
    KEY gw_port_id (gw_port_id),
    KEY flavor_id (flavor_id),
    KEY ix_routers_project_id (project_id),
    CONSTRAINT routers_ibfk_1 FOREIGN KEY (gw_port_id) REFERENCES ports (id),
    CONSTRAINT routers_ibfk_2 FOREIGN KEY (flavor_id) REFERENCES flavors (id),
    CONSTRAINT routers_ibfk_3 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE auto_allocated_topologies (
    project_id VARCHAR(255) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    router_id VARCHAR(36),
    PRIMARY KEY (project_id),
    KEY network_id (network_id),
    KEY router_id (router_id),
    CONSTRAINT auto_allocated_topologies_ibfk_1 FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE,
    CONSTRAINT auto_allocated_topologies_ibfk_2 FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE SET NULL
) ENGINE=InnoDB;

CREATE TABLE bgp_peers (
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255) NOT NULL,
    auth_type VARCHAR(16) NOT NULL,
    password VARCHAR(255),
    peer_ip VARCHAR(64) NOT NULL,
    remote_as INTEGER NOT NULL,
    tenant_id VARCHAR(255),
    PRIMARY KEY (id),
    KEY ix_bgp_peers_tenant_id (tenant_id)
) ENGINE=InnoDB;

CREATE TABLE bgp_speakers (
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255) NOT NULL,
    local_as INTEGER NOT NULL,
    ip_version INTEGER NOT NULL,
    tenant_id VARCHAR(255),
    advertise_floating_ip_host_routes BOOLEAN NOT NULL,
    advertise_tenant_networks BOOLEAN NOT NULL,
    PRIMARY KEY (id),
    KEY ix_bgp_speakers_tenant_id (tenant_id)
) ENGINE=InnoDB;

CREATE TABLE bgp_speaker_dragent_bindings (
    agent_id VARCHAR(36) NOT NULL,
    bgp_speaker_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (agent_id),
    KEY bgp_speaker_id (bgp_speaker_id),
    CONSTRAINT bgp_speaker_dragent_bindings_ibfk_1 FOREIGN KEY (agent_id) REFERENCES agents (id) ON DELETE CASCADE,
    CONSTRAINT bgp_speaker_dragent_bindings_ibfk_2 FOREIGN KEY (bgp_speaker_id) REFERENCES bgp_speakers (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE bgp_speaker_network_bindings (
    bgp_speaker_id VARCHAR(36) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    ip_version INTEGER NOT NULL,
    PRIMARY KEY (network_id, bgp_speaker_id, ip_version),
    KEY bgp_speaker_id (bgp_speaker_id),
    CONSTRAINT bgp_speaker_network_bindings_ibfk_1 FOREIGN KEY (bgp_speaker_id) REFERENCES bgp_speakers (id) ON DELETE CASCADE,
    CONSTRAINT bgp_speaker_network_bindings_ibfk_2 FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE bgp_speaker_peer_bindings (
    bgp_speaker_id VARCHAR(36) NOT NULL,
    bgp_peer_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (bgp_speaker_id, bgp_peer_id),
    KEY bgp_peer_id (bgp_peer_id),
    CONSTRAINT bgp_speaker_peer_bindings_ibfk_1 FOREIGN KEY (bgp_speaker_id) REFERENCES bgp_speakers (id) ON DELETE CASCADE,
    CONSTRAINT bgp_speaker_peer_bindings_ibfk_2 FOREIGN KEY (bgp_peer_id) REFERENCES bgp_peers (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE conntrack_helpers (
    id VARCHAR(36) NOT NULL,
    router_id VARCHAR(36) NOT NULL,
    protocol VARCHAR(40) NOT NULL,
    port INTEGER NOT NULL,
    helper VARCHAR(64) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_conntrack_helpers0router_id0protocol0port0helper UNIQUE (router_id, protocol, port, helper),
    CONSTRAINT conntrack_helpers_ibfk_1 FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE securitygroups (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    standard_attr_id BIGINT NOT NULL,
    stateful BOOLEAN NOT NULL DEFAULT 1,
    PRIMARY KEY (id),
    CONSTRAINT uniq_securitygroups0standard_attr_id UNIQUE (standard_attr_id),
    KEY ix_securitygroups_project_id (project_id),
    CONSTRAINT securitygroups_ibfk_1 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE default_security_group (
    project_id VARCHAR(255) NOT NULL,
    security_group_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (project_id),
    KEY security_group_id (security_group_id),
    CONSTRAINT default_security_group_ibfk_1 FOREIGN KEY (security_group_id) REFERENCES securitygroups (id) ON DELETE CASCADE
) ENGINE=InnoDB;

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
    CONSTRAINT uniq_networksegments0standard_attr_id UNIQUE (standard_attr_id),
    CONSTRAINT uniq_networksegment0network_id0network_type0physnet0sidx UNIQUE (network_id, network_type, physical_network, segment_index),
    CONSTRAINT networksegments_ibfk_1 FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE,
    CONSTRAINT networksegments_ibfk_2 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE subnets (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    network_id VARCHAR(36) NOT NULL,
    ip_version INTEGER NOT NULL,
    cidr VARCHAR(64) NOT NULL,
    gateway_ip VARCHAR(64),
    enable_dhcp BOOLEAN,
    ipv6_ra_mode ENUM ('slaac', 'dhcpv6-stateful', 'dhcpv6-stateless'),
    ipv6_address_mode ENUM ('slaac', 'dhcpv6-stateful', 'dhcpv6-stateless'),
    subnetpool_id VARCHAR(36),
    standard_attr_id BIGINT NOT NULL,
    segment_id VARCHAR(36),
    PRIMARY KEY (id),
    CONSTRAINT uniq_subnets0standard_attr_id UNIQUE (standard_attr_id),
    KEY network_id (network_id),
    KEY ix_subnets_subnetpool_id (subnetpool_id),
    KEY segment_id (segment_id),
    KEY ix_subnets_project_id (project_id),
    CONSTRAINT subnets_ibfk_1 FOREIGN KEY (network_id) REFERENCES networks (id),
    CONSTRAINT subnets_ibfk_2 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE,
    CONSTRAINT subnets_ibfk_3 FOREIGN KEY (segment_id) REFERENCES networksegments (id)
) ENGINE=InnoDB;

CREATE TABLE dnsnameservers (
    address VARCHAR(128) NOT NULL,
    subnet_id VARCHAR(36) NOT NULL,
    "order" INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (address, subnet_id),
    KEY subnet_id (subnet_id),
    CONSTRAINT dnsnameservers_ibfk_1 FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE dvr_fip_gateway_port_network (
    network_id VARCHAR(36) NOT NULL,
    agent_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (network_id, agent_id),
    KEY agent_id (agent_id),
    CONSTRAINT dvr_fip_gateway_port_network_ibfk_1 FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE,
    CONSTRAINT dvr_fip_gateway_port_network_ibfk_2 FOREIGN KEY (agent_id) REFERENCES agents (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE dvr_host_macs (
    host VARCHAR(255) NOT NULL,
    mac_address VARCHAR(32) NOT NULL,
    PRIMARY KEY (host),
    CONSTRAINT mac_address UNIQUE (mac_address)
) ENGINE=InnoDB;

CREATE TABLE vni_allocations (
    id VARCHAR(36) NOT NULL,
    vni INTEGER NOT NULL,
    physnet VARCHAR(64) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_vni_allocations0vni0physnet UNIQUE (vni, physnet)
) ENGINE=InnoDB;

CREATE TABLE vlan_allocations (
    id VARCHAR(36) NOT NULL,
    vlan_id INTEGER NOT NULL,
    physnet VARCHAR(64) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_vlan_allocations0vlan_id0physnet UNIQUE (vlan_id, physnet)
) ENGINE=InnoDB;

CREATE TABLE vni_vlan_mapping (
    id VARCHAR(36) NOT NULL,
    vni_allocation_id VARCHAR(36) NOT NULL,
    vlan_allocation_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT vni_allocation_id UNIQUE (vni_allocation_id),
    CONSTRAINT vlan_allocation_id UNIQUE (vlan_allocation_id),
    CONSTRAINT vni_vlan_mapping_ibfk_1 FOREIGN KEY (vni_allocation_id) REFERENCES vni_allocations (id),
    CONSTRAINT vni_vlan_mapping_ibfk_2 FOREIGN KEY (vlan_allocation_id) REFERENCES vlan_allocations (id)
) ENGINE=InnoDB;

CREATE TABLE evpn_l3_instances (
    router_id VARCHAR(36) NOT NULL,
    mapping_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (router_id),
    CONSTRAINT mapping_id UNIQUE (mapping_id),
    CONSTRAINT evpn_l3_instances_ibfk_1 FOREIGN KEY (router_id) REFERENCES routers (id),
    CONSTRAINT evpn_l3_instances_ibfk_2 FOREIGN KEY (mapping_id) REFERENCES vni_vlan_mapping (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE evpn_networks (
    network_id VARCHAR(36) NOT NULL,
    router_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (network_id),
    KEY router_id (router_id),
    CONSTRAINT evpn_networks_ibfk_1 FOREIGN KEY (network_id) REFERENCES networks (id),
    CONSTRAINT evpn_networks_ibfk_2 FOREIGN KEY (router_id) REFERENCES evpn_l3_instances (router_id)
) ENGINE=InnoDB;

CREATE TABLE evpn_advertised_ports (
    port_id VARCHAR(36) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (port_id),
    KEY port_id (port_id, network_id),
    KEY network_id (network_id),
    CONSTRAINT evpn_advertised_ports_ibfk_1 FOREIGN KEY (port_id, network_id) REFERENCES ports (id, network_id) ON DELETE CASCADE,
    CONSTRAINT evpn_advertised_ports_ibfk_2 FOREIGN KEY (network_id) REFERENCES evpn_networks (network_id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE externalnetworks (
    network_id VARCHAR(36) NOT NULL,
    is_default BOOLEAN NOT NULL DEFAULT 0,
    PRIMARY KEY (network_id),
    CONSTRAINT externalnetworks_ibfk_1 FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE extradhcpopts (
    id VARCHAR(36) NOT NULL,
    port_id VARCHAR(36) NOT NULL,
    opt_name VARCHAR(64) NOT NULL,
    opt_value VARCHAR(255) NOT NULL,
    ip_version INTEGER NOT NULL DEFAULT 4,
    PRIMARY KEY (id),
    CONSTRAINT uniq_extradhcpopts0portid0optname0ipversion UNIQUE (port_id, opt_name, ip_version),
    CONSTRAINT extradhcpopts_ibfk_1 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE serviceprofiles (
    id VARCHAR(36) NOT NULL,
    description VARCHAR(1024),
    driver VARCHAR(1024) NOT NULL,
    enabled BOOLEAN NOT NULL DEFAULT 1,
    metainfo VARCHAR(4096),
    PRIMARY KEY (id)
) ENGINE=InnoDB;

CREATE TABLE flavorserviceprofilebindings (
    service_profile_id VARCHAR(36) NOT NULL,
    flavor_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (service_profile_id, flavor_id),
    KEY flavorserviceprofilebindings_ibfk_2 (flavor_id),
    CONSTRAINT flavorserviceprofilebindings_ibfk_1 FOREIGN KEY (service_profile_id) REFERENCES serviceprofiles (id) ON DELETE CASCADE,
    CONSTRAINT flavorserviceprofilebindings_ibfk_2 FOREIGN KEY (flavor_id) REFERENCES flavors (id) ON DELETE CASCADE
) ENGINE=InnoDB;

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
    CONSTRAINT uniq_floatingips0standard_attr_id UNIQUE (standard_attr_id),
    CONSTRAINT uniq_floatingips0floatingnetworkid0fixedportid0fixedipaddress UNIQUE (floating_network_id, fixed_port_id, fixed_ip_address),
    KEY fixed_port_id (fixed_port_id),
    KEY floating_port_id (floating_port_id),
    KEY router_id (router_id),
    KEY ix_floatingips_project_id (project_id),
    CONSTRAINT floatingips_ibfk_1 FOREIGN KEY (fixed_port_id) REFERENCES ports (id),
    CONSTRAINT floatingips_ibfk_2 FOREIGN KEY (floating_port_id) REFERENCES ports (id) ON DELETE CASCADE,
    CONSTRAINT floatingips_ibfk_3 FOREIGN KEY (router_id) REFERENCES routers (id),
    CONSTRAINT floatingips_ibfk_4 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE floatingipdnses (
    floatingip_id VARCHAR(36) NOT NULL,
    dns_name VARCHAR(255) NOT NULL,
    dns_domain VARCHAR(255) NOT NULL,
    published_dns_name VARCHAR(255) NOT NULL,
    published_dns_domain VARCHAR(255) NOT NULL,
    PRIMARY KEY (floatingip_id),
    CONSTRAINT floatingipdnses_ibfk_1 FOREIGN KEY (floatingip_id) REFERENCES floatingips (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE ha_router_agent_port_bindings (
    port_id VARCHAR(36) NOT NULL,
    router_id VARCHAR(36) NOT NULL,
    l3_agent_id VARCHAR(36),
    state ENUM ('active', 'standby', 'unknown') DEFAULT 'standby',
    PRIMARY KEY (port_id),
    CONSTRAINT uniq_ha_router_agent_port_bindings0port_id0l3_agent_id UNIQUE (router_id, l3_agent_id),
    KEY l3_agent_id (l3_agent_id),
    CONSTRAINT ha_router_agent_port_bindings_ibfk_1 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    CONSTRAINT ha_router_agent_port_bindings_ibfk_2 FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE,
    CONSTRAINT ha_router_agent_port_bindings_ibfk_3 FOREIGN KEY (l3_agent_id) REFERENCES agents (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE ha_router_networks (
    project_id VARCHAR(255) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (project_id, network_id),
    CONSTRAINT uniq_ha_router_networks0project_id UNIQUE (project_id),
    KEY network_id (network_id),
    CONSTRAINT ha_router_networks_ibfk_1 FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE ha_router_vrid_allocations (
    network_id VARCHAR(36) NOT NULL,
    vr_id INTEGER NOT NULL,
    PRIMARY KEY (network_id, vr_id),
    CONSTRAINT ha_router_vrid_allocations_ibfk_1 FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE ipallocationpools (
    id VARCHAR(36) NOT NULL,
    subnet_id VARCHAR(36),
    first_ip VARCHAR(64) NOT NULL,
    last_ip VARCHAR(64) NOT NULL,
    PRIMARY KEY (id),
    KEY subnet_id (subnet_id),
    CONSTRAINT ipallocationpools_ibfk_1 FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE ipallocations (
    port_id VARCHAR(36),
    ip_address VARCHAR(64) NOT NULL,
    subnet_id VARCHAR(36) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (ip_address, subnet_id, network_id),
    KEY network_id (network_id),
    KEY port_id (port_id),
    KEY subnet_id (subnet_id),
    CONSTRAINT ipallocations_ibfk_1 FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE,
    CONSTRAINT ipallocations_ibfk_2 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    CONSTRAINT ipallocations_ibfk_3 FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE ipamsubnets (
    id VARCHAR(36) NOT NULL,
    neutron_subnet_id VARCHAR(36),
    PRIMARY KEY (id)
) ENGINE=InnoDB;

CREATE TABLE ipamallocationpools (
    id VARCHAR(36) NOT NULL,
    ipam_subnet_id VARCHAR(36) NOT NULL,
    first_ip VARCHAR(64) NOT NULL,
    last_ip VARCHAR(64) NOT NULL,
    PRIMARY KEY (id),
    KEY ipam_subnet_id (ipam_subnet_id),
    CONSTRAINT ipamallocationpools_ibfk_1 FOREIGN KEY (ipam_subnet_id) REFERENCES ipamsubnets (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE ipamallocations (
    ip_address VARCHAR(64) NOT NULL,
    status VARCHAR(36),
    ipam_subnet_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (ip_address, ipam_subnet_id),
    KEY ipam_subnet_id (ipam_subnet_id),
    CONSTRAINT ipamallocations_ibfk_1 FOREIGN KEY (ipam_subnet_id) REFERENCES ipamsubnets (id) ON DELETE CASCADE
) ENGINE=InnoDB;

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
    KEY local_port_id (local_port_id),
    KEY ix_local_ips_project_id (project_id),
    CONSTRAINT local_ips_ibfk_1 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE,
    CONSTRAINT local_ips_ibfk_2 FOREIGN KEY (local_port_id) REFERENCES ports (id)
) ENGINE=InnoDB;

CREATE TABLE local_ip_associations (
    local_ip_id VARCHAR(36) NOT NULL,
    fixed_port_id VARCHAR(36) NOT NULL,
    fixed_ip VARCHAR(64) NOT NULL,
    PRIMARY KEY (local_ip_id, fixed_port_id),
    KEY fixed_port_id (fixed_port_id),
    CONSTRAINT local_ip_associations_ibfk_1 FOREIGN KEY (local_ip_id) REFERENCES local_ips (id),
    CONSTRAINT local_ip_associations_ibfk_2 FOREIGN KEY (fixed_port_id) REFERENCES ports (id) ON DELETE CASCADE
) ENGINE=InnoDB;

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
    KEY ix_logs_project_id (project_id),
    KEY ix_logs_resource_id (resource_id),
    KEY ix_logs_target_id (target_id),
    CONSTRAINT logs_ibfk_1 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE meteringlabels (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    description VARCHAR(1024),
    shared BOOLEAN DEFAULT 0,
    PRIMARY KEY (id),
    KEY ix_meteringlabels_project_id (project_id)
) ENGINE=InnoDB;

CREATE TABLE meteringlabelrules (
    id VARCHAR(36) NOT NULL,
    direction ENUM ('ingress', 'egress'),
    remote_ip_prefix VARCHAR(64),
    metering_label_id VARCHAR(36) NOT NULL,
    excluded BOOLEAN DEFAULT 0,
    source_ip_prefix VARCHAR(64),
    destination_ip_prefix VARCHAR(64),
    PRIMARY KEY (id),
    KEY metering_label_id (metering_label_id),
    CONSTRAINT meteringlabelrules_ibfk_1 FOREIGN KEY (metering_label_id) REFERENCES meteringlabels (id) ON DELETE CASCADE
) ENGINE=InnoDB;

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
    CONSTRAINT ml2_distributed_port_bindings_ibfk_1 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE ml2_flat_allocations (
    physical_network VARCHAR(64) NOT NULL,
    PRIMARY KEY (physical_network)
) ENGINE=InnoDB;

CREATE TABLE ml2_geneve_allocations (
    geneve_vni INTEGER NOT NULL,
    allocated BOOLEAN NOT NULL DEFAULT 0,
    PRIMARY KEY (geneve_vni),
    KEY ix_ml2_geneve_allocations_allocated (allocated)
) ENGINE=InnoDB;

CREATE TABLE ml2_geneve_endpoints (
    ip_address VARCHAR(64) NOT NULL,
    host VARCHAR(255),
    PRIMARY KEY (ip_address),
    CONSTRAINT unique_ml2_geneve_endpoints0host UNIQUE (host)
) ENGINE=InnoDB;

CREATE TABLE ml2_gre_allocations (
    gre_id INTEGER NOT NULL,
    allocated BOOLEAN NOT NULL DEFAULT 0,
    PRIMARY KEY (gre_id),
    KEY ix_ml2_gre_allocations_allocated (allocated)
) ENGINE=InnoDB;

CREATE TABLE ml2_gre_endpoints (
    ip_address VARCHAR(64) NOT NULL,
    host VARCHAR(255),
    PRIMARY KEY (ip_address),
    CONSTRAINT unique_ml2_gre_endpoints0host UNIQUE (host)
) ENGINE=InnoDB;

CREATE TABLE ml2_port_binding_levels (
    port_id VARCHAR(36) NOT NULL,
    host VARCHAR(255) NOT NULL,
    level INTEGER NOT NULL,
    driver VARCHAR(64),
    segment_id VARCHAR(36),
    PRIMARY KEY (port_id, host, level),
    KEY ml2_port_binding_levels_ibfk_2 (segment_id),
    CONSTRAINT ml2_port_binding_levels_ibfk_1 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    CONSTRAINT ml2_port_binding_levels_ibfk_2 FOREIGN KEY (segment_id) REFERENCES networksegments (id) ON DELETE SET NULL
) ENGINE=InnoDB;

CREATE TABLE ml2_port_bindings (
    port_id VARCHAR(36) NOT NULL,
    host VARCHAR(255) NOT NULL DEFAULT '',
    vif_type VARCHAR(64) NOT NULL,
    vnic_type VARCHAR(64) NOT NULL DEFAULT 'normal',
    profile VARCHAR(4095) NOT NULL DEFAULT '',
    vif_details VARCHAR(4095) NOT NULL DEFAULT '',
    status VARCHAR(16) NOT NULL DEFAULT 'ACTIVE',
    PRIMARY KEY (port_id, host),
    CONSTRAINT ml2_port_bindings_ibfk_1 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE ml2_vlan_allocations (
    physical_network VARCHAR(64) NOT NULL,
    vlan_id INTEGER NOT NULL,
    allocated BOOLEAN NOT NULL,
    PRIMARY KEY (physical_network, vlan_id),
    KEY ix_ml2_vlan_allocations_physical_network_allocated (physical_network, allocated),
    CONSTRAINT check_ml2_vlan_allocations0vlan_id CHECK (vlan_id >= 1 and vlan_id <= 4094)
) ENGINE=InnoDB;

CREATE TABLE ml2_vxlan_allocations (
    vxlan_vni INTEGER NOT NULL,
    allocated BOOLEAN NOT NULL DEFAULT 0,
    PRIMARY KEY (vxlan_vni),
    KEY ix_ml2_vxlan_allocations_allocated (allocated)
) ENGINE=InnoDB;

CREATE TABLE ml2_vxlan_endpoints (
    ip_address VARCHAR(64) NOT NULL,
    udp_port INTEGER NOT NULL,
    host VARCHAR(255),
    PRIMARY KEY (ip_address),
    CONSTRAINT unique_ml2_vxlan_endpoints0host UNIQUE (host)
) ENGINE=InnoDB;

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
    KEY port_id (port_id),
    KEY ix_ndp_proxies_project_id (project_id),
    CONSTRAINT ndp_proxies_ibfk_1 FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE,
    CONSTRAINT ndp_proxies_ibfk_2 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    CONSTRAINT ndp_proxies_ibfk_3 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE network_segment_ranges (
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    "default" BOOLEAN NOT NULL,
    shared BOOLEAN NOT NULL,
    project_id VARCHAR(255),
    network_type ENUM ('vlan', 'vxlan', 'gre', 'geneve') NOT NULL,
    physical_network VARCHAR(64) NOT NULL DEFAULT '',
    minimum INTEGER,
    maximum INTEGER,
    standard_attr_id BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT standard_attr_id UNIQUE (standard_attr_id),
    CONSTRAINT uniq_network_segment_ranges UNIQUE ("default", network_type, physical_network, minimum, maximum),
    CONSTRAINT network_segment_ranges_ibfk_1 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE network_subnet_lock (
    network_id VARCHAR(36) NOT NULL,
    subnet_id VARCHAR(36),
    PRIMARY KEY (network_id),
    CONSTRAINT network_subnet_lock_ibfk_1 FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE networkdhcpagentbindings (
    network_id VARCHAR(36) NOT NULL,
    dhcp_agent_id VARCHAR(36) NOT NULL,
    binding_index INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (network_id, dhcp_agent_id),
    CONSTRAINT uniq_network_dhcp_agent_binding0network_id0binding_index0 UNIQUE (network_id, binding_index),
    KEY dhcp_agent_id (dhcp_agent_id),
    CONSTRAINT networkdhcpagentbindings_ibfk_1 FOREIGN KEY (dhcp_agent_id) REFERENCES agents (id) ON DELETE CASCADE,
    CONSTRAINT networkdhcpagentbindings_ibfk_2 FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE networkdnsdomains (
    network_id VARCHAR(36) NOT NULL,
    dns_domain VARCHAR(255) NOT NULL,
    PRIMARY KEY (network_id),
    CONSTRAINT networkdnsdomains_ibfk_1 FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE networkpvlan (
    network_id VARCHAR(36) NOT NULL,
    pvlan BOOLEAN NOT NULL DEFAULT 0,
    PRIMARY KEY (network_id),
    CONSTRAINT networkpvlan_ibfk_1 FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE networkrbacs (
    id VARCHAR(36) NOT NULL,
    object_id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255),
    target_project VARCHAR(255) NOT NULL,
    action VARCHAR(255) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_networkrbacs0target_project0object_id0action UNIQUE (target_project, object_id, action),
    KEY object_id (object_id),
    KEY ix_networkrbacs_project_id (project_id),
    KEY ix_networkrbacs_action (action),
    KEY ix_networkrbacs_target_project (target_project),
    CONSTRAINT networkrbacs_ibfk_1 FOREIGN KEY (object_id) REFERENCES networks (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE networksecuritybindings (
    network_id VARCHAR(36) NOT NULL,
    port_security_enabled BOOLEAN NOT NULL,
    PRIMARY KEY (network_id),
    CONSTRAINT networksecuritybindings_ibfk_1 FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE ovn_hash_ring (
    node_uuid VARCHAR(36) NOT NULL,
    group_name VARCHAR(256) NOT NULL,
    hostname VARCHAR(256) NOT NULL,
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL,
    PRIMARY KEY (node_uuid, group_name),
    KEY ix_ovn_hash_ring_node_uuid (node_uuid),
    KEY ix_ovn_hash_ring_group_name (group_name)
) ENGINE=InnoDB;

CREATE TABLE ovn_revision_numbers (
    standard_attr_id BIGINT,
    resource_uuid VARCHAR(36) NOT NULL,
    resource_type VARCHAR(36) NOT NULL,
    revision_number BIGINT NOT NULL DEFAULT 0,
    created_at DATETIME NOT NULL,
    updated_at TIMESTAMP NULL DEFAULT NULL,
    PRIMARY KEY (resource_uuid, resource_type),
    KEY standard_attr_id (standard_attr_id),
    KEY ix_ovn_revision_numbers_resource_uuid (resource_uuid),
    KEY ix_ovn_revision_numbers_resource_type (resource_type),
    CONSTRAINT ovn_revision_numbers_ibfk_1 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE SET NULL
) ENGINE=InnoDB;

CREATE TABLE portdataplanestatuses (
    port_id VARCHAR(36) NOT NULL,
    data_plane_status VARCHAR(16),
    PRIMARY KEY (port_id),
    CONSTRAINT portdataplanestatuses_ibfk_1 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE portdeviceprofiles (
    port_id VARCHAR(36) NOT NULL,
    device_profile VARCHAR(255),
    PRIMARY KEY (port_id),
    CONSTRAINT portdeviceprofiles_ibfk_1 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE portdnses (
    port_id VARCHAR(36) NOT NULL,
    current_dns_name VARCHAR(255) NOT NULL,
    current_dns_domain VARCHAR(255) NOT NULL,
    previous_dns_name VARCHAR(255) NOT NULL,
    previous_dns_domain VARCHAR(255) NOT NULL,
    dns_name VARCHAR(255) NOT NULL,
    dns_domain VARCHAR(255) NOT NULL DEFAULT '',
    PRIMARY KEY (port_id),
    CONSTRAINT portdnses_ibfk_1 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) ENGINE=InnoDB;

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
    KEY portforwardings_ibfk_2 (internal_neutron_port_id),
    CONSTRAINT portforwardings_ibfk_1 FOREIGN KEY (floatingip_id) REFERENCES floatingips (id) ON DELETE CASCADE,
    CONSTRAINT portforwardings_ibfk_2 FOREIGN KEY (internal_neutron_port_id) REFERENCES ports (id) ON DELETE CASCADE,
    CONSTRAINT portforwardings_ibfk_3 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE porthardwareoffloadtype (
    port_id VARCHAR(36) NOT NULL,
    hardware_offload_type VARCHAR(255),
    PRIMARY KEY (port_id),
    KEY ix_porthardwareoffloadtype_port_id (port_id),
    CONSTRAINT porthardwareoffloadtype_ibfk_1 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE porthints (
    port_id VARCHAR(36) NOT NULL,
    hints VARCHAR(4095) NOT NULL,
    PRIMARY KEY (port_id),
    CONSTRAINT porthints_ibfk_1 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE portnumaaffinitypolicies (
    port_id VARCHAR(36) NOT NULL,
    numa_affinity_policy ENUM ('required', 'preferred', 'legacy', 'socket'),
    PRIMARY KEY (port_id),
    CONSTRAINT portnumaaffinitypolicies_ibfk_1 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE portpvlan (
    port_id VARCHAR(36) NOT NULL,
    pvlan_type ENUM ('isolated', 'promiscuous', 'community') NOT NULL,
    pvlan_community VARCHAR(255),
    PRIMARY KEY (port_id),
    CONSTRAINT portpvlan_ibfk_1 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE portsecuritybindings (
    port_id VARCHAR(36) NOT NULL,
    port_security_enabled BOOLEAN NOT NULL,
    PRIMARY KEY (port_id),
    CONSTRAINT portsecuritybindings_ibfk_1 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE porttrusted (
    port_id VARCHAR(36) NOT NULL,
    trusted BOOLEAN,
    PRIMARY KEY (port_id),
    CONSTRAINT porttrusted_ibfk_1 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE portuplinkstatuspropagation (
    port_id VARCHAR(36) NOT NULL,
    propagate_uplink_status BOOLEAN NOT NULL DEFAULT 1,
    PRIMARY KEY (port_id),
    CONSTRAINT portuplinkstatuspropagation_ibfk_1 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE providerresourceassociations (
    provider_name VARCHAR(255) NOT NULL,
    resource_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (provider_name, resource_id),
    CONSTRAINT resource_id UNIQUE (resource_id)
) ENGINE=InnoDB;

CREATE TABLE provisioningblocks (
    standard_attr_id BIGINT NOT NULL,
    entity VARCHAR(255) NOT NULL,
    PRIMARY KEY (standard_attr_id, entity),
    CONSTRAINT provisioningblocks_ibfk_1 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE qos_policies (
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    project_id VARCHAR(255),
    standard_attr_id BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_qos_policies0standard_attr_id UNIQUE (standard_attr_id),
    KEY ix_qos_policies_project_id (project_id),
    CONSTRAINT qos_policies_ibfk_1 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE qos_bandwidth_limit_rules (
    id VARCHAR(36) NOT NULL,
    qos_policy_id VARCHAR(36) NOT NULL,
    max_kbps INTEGER,
    max_burst_kbps INTEGER,
    direction ENUM ('egress', 'ingress') NOT NULL DEFAULT 'egress',
    PRIMARY KEY (id),
    CONSTRAINT qos_bandwidth_rules0qos_policy_id0direction UNIQUE (qos_policy_id, direction),
    CONSTRAINT qos_bandwidth_limit_rules_ibfk_1 FOREIGN KEY (qos_policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE qos_dscp_marking_rules (
    id VARCHAR(36) NOT NULL,
    qos_policy_id VARCHAR(36) NOT NULL,
    dscp_mark INTEGER,
    PRIMARY KEY (id),
    CONSTRAINT qos_policy_id UNIQUE (qos_policy_id),
    CONSTRAINT qos_dscp_marking_rules_ibfk_1 FOREIGN KEY (qos_policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE qos_fip_policy_bindings (
    policy_id VARCHAR(36) NOT NULL,
    fip_id VARCHAR(36) NOT NULL,
    CONSTRAINT fip_id UNIQUE (fip_id),
    KEY policy_id (policy_id),
    CONSTRAINT qos_fip_policy_bindings_ibfk_1 FOREIGN KEY (policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE,
    CONSTRAINT qos_fip_policy_bindings_ibfk_2 FOREIGN KEY (fip_id) REFERENCES floatingips (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE qos_minimum_bandwidth_rules (
    id VARCHAR(36) NOT NULL,
    qos_policy_id VARCHAR(36) NOT NULL,
    min_kbps INTEGER,
    direction ENUM ('egress', 'ingress') NOT NULL DEFAULT 'egress',
    PRIMARY KEY (id),
    CONSTRAINT qos_minimum_bandwidth_rules0qos_policy_id0direction UNIQUE (qos_policy_id, direction),
    KEY ix_qos_minimum_bandwidth_rules_qos_policy_id (qos_policy_id),
    CONSTRAINT qos_minimum_bandwidth_rules_ibfk_1 FOREIGN KEY (qos_policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE qos_minimum_packet_rate_rules (
    id VARCHAR(36) NOT NULL,
    qos_policy_id VARCHAR(36),
    min_kpps INTEGER NOT NULL,
    direction ENUM ('any', 'ingress', 'egress') NOT NULL DEFAULT 'egress',
    PRIMARY KEY (id),
    CONSTRAINT qos_minimum_packet_rate_rules0qos_policy_id0direction UNIQUE (qos_policy_id, direction),
    KEY ix_qos_minimum_packet_rate_rules_qos_policy_id (qos_policy_id),
    CONSTRAINT qos_minimum_packet_rate_rules_ibfk_1 FOREIGN KEY (qos_policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE qos_network_policy_bindings (
    policy_id VARCHAR(36) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    CONSTRAINT network_id UNIQUE (network_id),
    KEY policy_id (policy_id),
    CONSTRAINT qos_network_policy_bindings_ibfk_1 FOREIGN KEY (policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE,
    CONSTRAINT qos_network_policy_bindings_ibfk_2 FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE qos_packet_rate_limit_rules (
    id VARCHAR(36) NOT NULL,
    qos_policy_id VARCHAR(36) NOT NULL,
    max_kpps INTEGER,
    max_burst_kpps INTEGER,
    direction ENUM ('egress', 'ingress') NOT NULL DEFAULT 'egress',
    PRIMARY KEY (id),
    CONSTRAINT qos_packet_rate_limit_rules0qos_policy_id0direction UNIQUE (qos_policy_id, direction),
    KEY ix_qos_packet_rate_limit_rules_qos_policy_id (qos_policy_id),
    CONSTRAINT qos_packet_rate_limit_rules_ibfk_1 FOREIGN KEY (qos_policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE qos_policies_default (
    qos_policy_id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255) NOT NULL,
    PRIMARY KEY (project_id),
    KEY qos_policy_id (qos_policy_id),
    CONSTRAINT qos_policies_default_ibfk_1 FOREIGN KEY (qos_policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE qos_port_policy_bindings (
    policy_id VARCHAR(36) NOT NULL,
    port_id VARCHAR(36) NOT NULL,
    CONSTRAINT port_id UNIQUE (port_id),
    KEY policy_id (policy_id),
    CONSTRAINT qos_port_policy_bindings_ibfk_1 FOREIGN KEY (policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE,
    CONSTRAINT qos_port_policy_bindings_ibfk_2 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE qos_router_gw_policy_bindings (
    policy_id VARCHAR(36) NOT NULL,
    router_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (policy_id, router_id),
    CONSTRAINT router_id UNIQUE (router_id),
    CONSTRAINT qos_router_gw_policy_bindings_ibfk_1 FOREIGN KEY (policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE,
    CONSTRAINT qos_router_gw_policy_bindings_ibfk_2 FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE qospolicyrbacs (
    id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255),
    target_project VARCHAR(255) NOT NULL,
    action VARCHAR(255) NOT NULL,
    object_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_qospolicyrbacs0target_project0object_id0action UNIQUE (target_project, object_id, action),
    KEY object_id (object_id),
    KEY ix_qospolicyrbacs_project_id (project_id),
    KEY ix_qospolicyrbacs_action (action),
    KEY ix_qospolicyrbacs_target_project (target_project),
    CONSTRAINT qospolicyrbacs_ibfk_1 FOREIGN KEY (object_id) REFERENCES qos_policies (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE quotas (
    id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255),
    resource VARCHAR(255),
    "limit" INTEGER,
    PRIMARY KEY (id),
    CONSTRAINT uniq_quotas0project_id0resource UNIQUE (project_id, resource),
    KEY ix_quotas_project_id (project_id)
) ENGINE=InnoDB;

CREATE TABLE quotausages (
    project_id VARCHAR(255) NOT NULL,
    resource VARCHAR(255) NOT NULL,
    dirty BOOLEAN NOT NULL DEFAULT 0,
    in_use INTEGER NOT NULL DEFAULT 0,
    reserved INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (project_id, resource)
) ENGINE=InnoDB;

CREATE TABLE reservations (
    id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255),
    expiration DATETIME,
    PRIMARY KEY (id)
) ENGINE=InnoDB;

CREATE TABLE resourcedeltas (
    resource VARCHAR(255) NOT NULL,
    reservation_id VARCHAR(36) NOT NULL,
    amount INTEGER,
    PRIMARY KEY (resource, reservation_id),
    KEY reservation_id (reservation_id),
    CONSTRAINT resourcedeltas_ibfk_1 FOREIGN KEY (reservation_id) REFERENCES reservations (id) ON DELETE CASCADE
) ENGINE=InnoDB;

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
    CONSTRAINT router_extra_attributes_ibfk_1 FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE router_ndp_proxy_state (
    router_id VARCHAR(36) NOT NULL,
    enable_ndp_proxy BOOLEAN NOT NULL,
    PRIMARY KEY (router_id),
    CONSTRAINT router_ndp_proxy_state_ibfk_1 FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE routerl3agentbindings (
    router_id VARCHAR(36) NOT NULL,
    l3_agent_id VARCHAR(36) NOT NULL,
    binding_index INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (router_id, l3_agent_id),
    CONSTRAINT uniq_router_l3_agent_binding0router_id0binding_index0 UNIQUE (router_id, binding_index),
    KEY l3_agent_id (l3_agent_id),
    CONSTRAINT routerl3agentbindings_ibfk_1 FOREIGN KEY (l3_agent_id) REFERENCES agents (id) ON DELETE CASCADE,
    CONSTRAINT routerl3agentbindings_ibfk_2 FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE routerports (
    router_id VARCHAR(36) NOT NULL,
    port_id VARCHAR(36) NOT NULL,
    port_type VARCHAR(255),
    PRIMARY KEY (router_id, port_id),
    CONSTRAINT uniq_routerports0port_id UNIQUE (port_id),
    CONSTRAINT routerports_ibfk_1 FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE,
    CONSTRAINT routerports_ibfk_2 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE routerroutes (
    destination VARCHAR(64) NOT NULL,
    nexthop VARCHAR(64) NOT NULL,
    router_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (destination, nexthop, router_id),
    KEY router_id (router_id),
    CONSTRAINT routerroutes_ibfk_1 FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE security_groups_default_statefulness (
    id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255),
    stateful BOOLEAN NOT NULL DEFAULT 1,
    PRIMARY KEY (id),
    CONSTRAINT project_id UNIQUE (project_id)
) ENGINE=InnoDB;

CREATE TABLE securitygroupdefaultrules (
    id VARCHAR(36) NOT NULL,
    standard_attr_id BIGINT NOT NULL,
    remote_group_id VARCHAR(36),
    remote_address_group_id VARCHAR(36),
    direction ENUM ('ingress', 'egress') NOT NULL,
    ethertype VARCHAR(40),
    protocol VARCHAR(40),
    port_range_min INTEGER,
    port_range_max INTEGER,
    remote_ip_prefix VARCHAR(255),
    used_in_default_sg BOOLEAN NOT NULL DEFAULT 0,
    used_in_non_default_sg BOOLEAN NOT NULL DEFAULT 1,
    PRIMARY KEY (id),
    CONSTRAINT standard_attr_id UNIQUE (standard_attr_id),
    CONSTRAINT securitygroupdefaultrules_ibfk_1 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE securitygroupportbindings (
    port_id VARCHAR(36) NOT NULL,
    security_group_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (port_id, security_group_id),
    KEY securitygroupportbindings_ibfk_2 (security_group_id),
    CONSTRAINT securitygroupportbindings_ibfk_1 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    CONSTRAINT securitygroupportbindings_ibfk_2 FOREIGN KEY (security_group_id) REFERENCES securitygroups (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE securitygrouprbacs (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    target_project VARCHAR(255) NOT NULL,
    action VARCHAR(255) NOT NULL,
    object_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_securitygrouprbacs0target_project0object_id0action UNIQUE (target_project, object_id, action),
    KEY object_id (object_id),
    KEY ix_securitygrouprbacs_project_id (project_id),
    KEY ix_securitygrouprbacs_action (action),
    KEY ix_securitygrouprbacs_target_project (target_project),
    CONSTRAINT securitygrouprbacs_ibfk_1 FOREIGN KEY (object_id) REFERENCES securitygroups (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE securitygrouprules (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    security_group_id VARCHAR(36) NOT NULL,
    remote_group_id VARCHAR(36),
    direction ENUM ('ingress', 'egress'),
    ethertype VARCHAR(40),
    protocol VARCHAR(40),
    port_range_min INTEGER,
    port_range_max INTEGER,
    remote_ip_prefix VARCHAR(255),
    standard_attr_id BIGINT NOT NULL,
    remote_address_group_id VARCHAR(36),
    PRIMARY KEY (id),
    CONSTRAINT uniq_securitygrouprules0standard_attr_id UNIQUE (standard_attr_id),
    KEY security_group_id (security_group_id),
    KEY remote_group_id (remote_group_id),
    KEY ix_securitygrouprules_project_id (project_id),
    KEY remote_address_group_id (remote_address_group_id),
    CONSTRAINT securitygrouprules_ibfk_1 FOREIGN KEY (security_group_id) REFERENCES securitygroups (id) ON DELETE CASCADE,
    CONSTRAINT securitygrouprules_ibfk_2 FOREIGN KEY (remote_group_id) REFERENCES securitygroups (id) ON DELETE CASCADE,
    CONSTRAINT securitygrouprules_ibfk_3 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE,
    CONSTRAINT securitygrouprules_ibfk_4 FOREIGN KEY (remote_address_group_id) REFERENCES address_groups (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE segmenthostmappings (
    segment_id VARCHAR(36) NOT NULL,
    host VARCHAR(255) NOT NULL,
    PRIMARY KEY (segment_id, host),
    CONSTRAINT segmenthostmappings_ibfk_1 FOREIGN KEY (segment_id) REFERENCES networksegments (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE subnet_bgp_leak_routes (
    subnet_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (subnet_id),
    CONSTRAINT subnet_bgp_leak_routes_ibfk_1 FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE subnet_dns_publish_fixed_ips (
    subnet_id VARCHAR(36) NOT NULL,
    dns_publish_fixed_ip BOOLEAN NOT NULL DEFAULT 0,
    PRIMARY KEY (subnet_id),
    CONSTRAINT subnet_dns_publish_fixed_ips_ibfk_1 FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE subnet_service_types (
    subnet_id VARCHAR(36) NOT NULL,
    service_type VARCHAR(255) NOT NULL,
    PRIMARY KEY (subnet_id, service_type),
    CONSTRAINT subnet_service_types_ibfk_1 FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
) ENGINE=InnoDB;

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
    KEY ix_subnetpools_project_id (project_id),
    KEY ix_subnetpools_address_scope_id (address_scope_id),
    CONSTRAINT subnetpools_ibfk_1 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE subnetpoolprefixes (
    cidr VARCHAR(64) NOT NULL,
    subnetpool_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (cidr, subnetpool_id),
    KEY subnetpool_id (subnetpool_id),
    CONSTRAINT subnetpoolprefixes_ibfk_1 FOREIGN KEY (subnetpool_id) REFERENCES subnetpools (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE subnetpoolrbacs (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    target_project VARCHAR(255) NOT NULL,
    action VARCHAR(255) NOT NULL,
    object_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uniq_subnetpoolrbacs0target_project0object_id0action UNIQUE (target_project, object_id, action),
    KEY object_id (object_id),
    KEY ix_subnetpoolrbacs_project_id (project_id),
    KEY ix_subnetpoolrbacs_action (action),
    KEY ix_subnetpoolrbacs_target_project (target_project),
    CONSTRAINT subnetpoolrbacs_ibfk_1 FOREIGN KEY (object_id) REFERENCES subnetpools (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE subnetroutes (
    destination VARCHAR(64) NOT NULL,
    nexthop VARCHAR(64) NOT NULL,
    subnet_id VARCHAR(36) NOT NULL,
    PRIMARY KEY (destination, nexthop, subnet_id),
    KEY subnet_id (subnet_id),
    CONSTRAINT subnetroutes_ibfk_1 FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
) ENGINE=InnoDB;

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
    KEY ix_trunks_project_id (project_id),
    CONSTRAINT trunks_ibfk_1 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    CONSTRAINT trunks_ibfk_2 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE subports (
    port_id VARCHAR(36) NOT NULL,
    trunk_id VARCHAR(36) NOT NULL,
    segmentation_type VARCHAR(32) NOT NULL,
    segmentation_id INTEGER NOT NULL,
    PRIMARY KEY (port_id),
    CONSTRAINT uniq_subport0trunk_id0segmentation_type0segmentation_id UNIQUE (trunk_id, segmentation_type, segmentation_id),
    CONSTRAINT subports_ibfk_1 FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    CONSTRAINT subports_ibfk_2 FOREIGN KEY (trunk_id) REFERENCES trunks (id) ON DELETE CASCADE
) ENGINE=InnoDB;

CREATE TABLE tags (
    standard_attr_id BIGINT NOT NULL,
    tag VARCHAR(255) NOT NULL,
    PRIMARY KEY (standard_attr_id, tag),
    CONSTRAINT tags_ibfk_1 FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The rules that each new security group begins with. Their ids are random, as in the reference.
INSERT INTO standardattributes (id, resource_type, description) VALUES
    (1, 'securitygroupdefaultrules', 'Legacy default SG rule for egress traffic'),
    (2, 'securitygroupdefaultrules', 'Legacy default SG rule for egress traffic'),
    (3, 'securitygroupdefaultrules', 'Legacy default SG rule for ingress traffic'),
    (4, 'securitygroupdefaultrules', 'Legacy default SG rule for ingress traffic');
INSERT INTO securitygroupdefaultrules (
    id, standard_attr_id, remote_group_id, direction, ethertype, used_in_default_sg, used_in_non_default_sg
) VALUES
    (uuid(), 1, NULL, 'egress', 'IPv4', 1, 1),
    (uuid(), 2, NULL, 'egress', 'IPv6', 1, 1),
    (uuid(), 3, 'PARENT', 'ingress', 'IPv4', 1, 0),
    (uuid(), 4, 'PARENT', 'ingress', 'IPv6', 1, 0);
