-- The schema of Neutron 29 (2026.2) on PostgreSQL, as its own migrations make it (but for the step that gives tags a character
-- set, which PostgreSQL does not know): types, keys, references and their names.

CREATE TYPE defaultsecuritygrouprules_direction AS ENUM ('ingress', 'egress');
CREATE TYPE directions AS ENUM ('egress', 'ingress');
CREATE TYPE ipv6_address_modes AS ENUM ('slaac', 'dhcpv6-stateful', 'dhcpv6-stateless');
CREATE TYPE ipv6_ra_modes AS ENUM ('slaac', 'dhcpv6-stateful', 'dhcpv6-stateless');
CREATE TYPE l3_ha_states AS ENUM ('active', 'standby');
CREATE TYPE meteringlabels_direction AS ENUM ('ingress', 'egress');
CREATE TYPE network_segment_range_network_type AS ENUM ('vlan', 'vxlan', 'gre', 'geneve');
CREATE TYPE numa_affinity_policy AS ENUM ('required', 'preferred', 'legacy', 'socket');
CREATE TYPE pvlan_type_enum AS ENUM ('isolated', 'promiscuous', 'community');
CREATE TYPE qos_minimum_packet_rate_rules_directions AS ENUM ('any', 'ingress', 'egress');
CREATE TYPE qos_packet_rate_limit_rules_directions AS ENUM ('egress', 'ingress');
CREATE TYPE securitygrouprules_direction AS ENUM ('ingress', 'egress');

CREATE TABLE standardattributes (
    id BIGSERIAL NOT NULL,
    resource_type VARCHAR(255) NOT NULL,
    created_at TIMESTAMP WITHOUT TIME ZONE,
    updated_at TIMESTAMP WITHOUT TIME ZONE,
    description VARCHAR(255),
    revision_number BIGINT NOT NULL DEFAULT '0'::bigint,
    CONSTRAINT standardattributes_pkey PRIMARY KEY (id)
);

CREATE TABLE address_groups (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    standard_attr_id BIGINT NOT NULL,
    CONSTRAINT address_groups_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_address_groups0standard_attr_id UNIQUE (standard_attr_id),
    CONSTRAINT address_groups_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_address_groups_project_id ON address_groups (project_id);

CREATE TABLE address_associations (
    address VARCHAR(64) NOT NULL,
    address_group_id VARCHAR(36) NOT NULL,
    CONSTRAINT address_associations_pkey PRIMARY KEY (address, address_group_id),
    CONSTRAINT address_associations_address_group_id_fkey FOREIGN KEY (address_group_id) REFERENCES address_groups (id) ON DELETE CASCADE
);

CREATE TABLE address_scopes (
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255) NOT NULL,
    project_id VARCHAR(255),
    shared BOOLEAN NOT NULL DEFAULT false,
    ip_version INTEGER NOT NULL,
    CONSTRAINT address_scopes_pkey PRIMARY KEY (id)
);
CREATE INDEX ix_address_scopes_project_id ON address_scopes (project_id);

CREATE TABLE addressgrouprbacs (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    target_project VARCHAR(255) NOT NULL,
    action VARCHAR(255) NOT NULL,
    object_id VARCHAR(36) NOT NULL,
    CONSTRAINT addressgrouprbacs_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_addressgrouprbacs0target_project0object_id0action UNIQUE (target_project, object_id, action),
    CONSTRAINT addressgrouprbacs_object_id_fkey FOREIGN KEY (object_id) REFERENCES address_groups (id) ON DELETE CASCADE
);
CREATE INDEX ix_addressgrouprbacs_action ON addressgrouprbacs (action);
CREATE INDEX ix_addressgrouprbacs_project_id ON addressgrouprbacs (project_id);
CREATE INDEX ix_addressgrouprbacs_target_project ON addressgrouprbacs (target_project);

CREATE TABLE addressscoperbacs (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    target_project VARCHAR(255) NOT NULL,
    action VARCHAR(255) NOT NULL,
    object_id VARCHAR(36) NOT NULL,
    CONSTRAINT addressscoperbacs_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_addressscoperbacs0target_project0object_id0action UNIQUE (target_project, object_id, action),
    CONSTRAINT addressscoperbacs_object_id_fkey FOREIGN KEY (object_id) REFERENCES address_scopes (id) ON DELETE CASCADE
);
CREATE INDEX ix_addressscoperbacs_action ON addressscoperbacs (action);
CREATE INDEX ix_addressscoperbacs_project_id ON addressscoperbacs (project_id);
CREATE INDEX ix_addressscoperbacs_target_project ON addressscoperbacs (target_project);

CREATE TABLE agents (
    id VARCHAR(36) NOT NULL,
    agent_type VARCHAR(255) NOT NULL,
    "binary" VARCHAR(255) NOT NULL,
    topic VARCHAR(255) NOT NULL,
    host VARCHAR(255) NOT NULL,
    admin_state_up BOOLEAN NOT NULL DEFAULT true,
    created_at TIMESTAMP WITHOUT TIME ZONE NOT NULL,
    started_at TIMESTAMP WITHOUT TIME ZONE NOT NULL,
    heartbeat_timestamp TIMESTAMP WITHOUT TIME ZONE NOT NULL,
    description VARCHAR(255),
    configurations VARCHAR(4095) NOT NULL,
    load INTEGER NOT NULL DEFAULT 0,
    availability_zone VARCHAR(255),
    resource_versions VARCHAR(8191),
    resources_synced BOOLEAN,
    CONSTRAINT agents_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_agents0agent_type0host UNIQUE (agent_type, host)
);
CREATE INDEX ix_agents_host ON agents (host);

CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

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
    CONSTRAINT networks_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_networks0standard_attr_id UNIQUE (standard_attr_id),
    CONSTRAINT networks_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
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
    CONSTRAINT ports_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_ports0id0network_id UNIQUE (id, network_id),
    CONSTRAINT uniq_ports0network_id0mac_address UNIQUE (network_id, mac_address),
    CONSTRAINT uniq_ports0standard_attr_id UNIQUE (standard_attr_id),
    CONSTRAINT ports_network_id_fkey FOREIGN KEY (network_id) REFERENCES networks (id),
    CONSTRAINT ports_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_ports_device_id ON ports (device_id);
CREATE INDEX ix_ports_network_id ON ports (network_id);
CREATE INDEX ix_ports_network_id_device_owner ON ports (network_id, device_owner);
CREATE INDEX ix_ports_project_id ON ports (project_id);

CREATE TABLE allowedaddresspairs (
    port_id VARCHAR(36) NOT NULL,
    mac_address VARCHAR(32) NOT NULL,
    ip_address VARCHAR(64) NOT NULL,
    CONSTRAINT allowedaddresspairs_pkey PRIMARY KEY (port_id, mac_address, ip_address),
    CONSTRAINT allowedaddresspairs_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
);

CREATE TABLE flavors (
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    description VARCHAR(1024),
    enabled BOOLEAN NOT NULL DEFAULT true,
    service_type VARCHAR(36),
    CONSTRAINT flavors_pkey PRIMARY KEY (id)
);

CREATE TABLE routers (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    status VARCHAR(16),
    admin_state_up BOOLEAN,
    gw_port_id VARCHAR(36),
    enable_snat BOOLEAN NOT NULL DEFAULT true,
    standard_attr_id BIGINT NOT NULL,
    flavor_id VARCHAR(36),
    CONSTRAINT routers_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_routers0standard_attr_id UNIQUE (standard_attr_id),
    CONSTRAINT routers_flavor_id_fkey FOREIGN KEY (flavor_id) REFERENCES flavors (id),
    CONSTRAINT routers_gw_port_id_fkey FOREIGN KEY (gw_port_id) REFERENCES ports (id),
    CONSTRAINT routers_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_routers_project_id ON routers (project_id);

CREATE TABLE auto_allocated_topologies (
    project_id VARCHAR(255) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    router_id VARCHAR(36),
    CONSTRAINT auto_allocated_topologies_pkey PRIMARY KEY (project_id),
    CONSTRAINT auto_allocated_topologies_network_id_fkey FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE,
    CONSTRAINT auto_allocated_topologies_router_id_fkey FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE SET NULL
);

CREATE TABLE bgp_peers (
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255) NOT NULL,
    auth_type VARCHAR(16) NOT NULL,
    password VARCHAR(255),
    peer_ip VARCHAR(64) NOT NULL,
    remote_as INTEGER NOT NULL,
    tenant_id VARCHAR(255),
    CONSTRAINT bgp_peers_pkey PRIMARY KEY (id)
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
    CONSTRAINT bgp_speakers_pkey PRIMARY KEY (id)
);
CREATE INDEX ix_bgp_speakers_tenant_id ON bgp_speakers (tenant_id);

CREATE TABLE bgp_speaker_dragent_bindings (
    agent_id VARCHAR(36) NOT NULL,
    bgp_speaker_id VARCHAR(36) NOT NULL,
    CONSTRAINT bgp_speaker_dragent_bindings_pkey PRIMARY KEY (agent_id),
    CONSTRAINT bgp_speaker_dragent_bindings_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents (id) ON DELETE CASCADE,
    CONSTRAINT bgp_speaker_dragent_bindings_bgp_speaker_id_fkey FOREIGN KEY (bgp_speaker_id) REFERENCES bgp_speakers (id) ON DELETE CASCADE
);

CREATE TABLE bgp_speaker_network_bindings (
    bgp_speaker_id VARCHAR(36) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    ip_version INTEGER NOT NULL,
    CONSTRAINT bgp_speaker_network_bindings_pkey PRIMARY KEY (network_id, bgp_speaker_id, ip_version),
    CONSTRAINT bgp_speaker_network_bindings_bgp_speaker_id_fkey FOREIGN KEY (bgp_speaker_id) REFERENCES bgp_speakers (id) ON DELETE CASCADE,
    CONSTRAINT bgp_speaker_network_bindings_network_id_fkey FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
);

CREATE TABLE bgp_speaker_peer_bindings (
    bgp_speaker_id VARCHAR(36) NOT NULL,
    bgp_peer_id VARCHAR(36) NOT NULL,
    CONSTRAINT bgp_speaker_peer_bindings_pkey PRIMARY KEY (bgp_speaker_id, bgp_peer_id),
    CONSTRAINT bgp_speaker_peer_bindings_bgp_peer_id_fkey FOREIGN KEY (bgp_peer_id) REFERENCES bgp_peers (id) ON DELETE CASCADE,
    CONSTRAINT bgp_speaker_peer_bindings_bgp_speaker_id_fkey FOREIGN KEY (bgp_speaker_id) REFERENCES bgp_speakers (id) ON DELETE CASCADE
);

CREATE TABLE conntrack_helpers (
    id VARCHAR(36) NOT NULL,
    router_id VARCHAR(36) NOT NULL,
    protocol VARCHAR(40) NOT NULL,
    port INTEGER NOT NULL,
    helper VARCHAR(64) NOT NULL,
    CONSTRAINT conntrack_helpers_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_conntrack_helpers0router_id0protocol0port0helper UNIQUE (router_id, protocol, port, helper),
    CONSTRAINT conntrack_helpers_router_id_fkey FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE
);

CREATE TABLE securitygroups (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    standard_attr_id BIGINT NOT NULL,
    stateful BOOLEAN NOT NULL DEFAULT true,
    CONSTRAINT securitygroups_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_securitygroups0standard_attr_id UNIQUE (standard_attr_id),
    CONSTRAINT securitygroups_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_securitygroups_project_id ON securitygroups (project_id);

CREATE TABLE default_security_group (
    project_id VARCHAR(255) NOT NULL,
    security_group_id VARCHAR(36) NOT NULL,
    CONSTRAINT default_security_group_pkey PRIMARY KEY (project_id),
    CONSTRAINT default_security_group_security_group_id_fkey FOREIGN KEY (security_group_id) REFERENCES securitygroups (id) ON DELETE CASCADE
);

CREATE TABLE networksegments (
    id VARCHAR(36) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    network_type VARCHAR(32) NOT NULL,
    physical_network VARCHAR(64),
    segmentation_id INTEGER,
    is_dynamic BOOLEAN NOT NULL DEFAULT false,
    segment_index INTEGER NOT NULL DEFAULT 0,
    standard_attr_id BIGINT NOT NULL,
    name VARCHAR(255),
    CONSTRAINT ml2_network_segments_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_networksegment0network_id0network_type0physnet0sidx UNIQUE (network_id, network_type, physical_network, segment_index),
    CONSTRAINT uniq_networksegments0standard_attr_id UNIQUE (standard_attr_id),
    CONSTRAINT ml2_network_segments_network_id_fkey FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE,
    CONSTRAINT networksegments_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
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
    ipv6_ra_mode ipv6_ra_modes,
    ipv6_address_mode ipv6_address_modes,
    subnetpool_id VARCHAR(36),
    standard_attr_id BIGINT NOT NULL,
    segment_id VARCHAR(36),
    CONSTRAINT subnets_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_subnets0standard_attr_id UNIQUE (standard_attr_id),
    CONSTRAINT subnets_network_id_fkey FOREIGN KEY (network_id) REFERENCES networks (id),
    CONSTRAINT subnets_segment_id_fkey FOREIGN KEY (segment_id) REFERENCES networksegments (id),
    CONSTRAINT subnets_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_subnets_project_id ON subnets (project_id);
CREATE INDEX ix_subnets_subnetpool_id ON subnets (subnetpool_id);

CREATE TABLE dnsnameservers (
    address VARCHAR(128) NOT NULL,
    subnet_id VARCHAR(36) NOT NULL,
    "order" INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT dnsnameservers_pkey PRIMARY KEY (address, subnet_id),
    CONSTRAINT dnsnameservers_subnet_id_fkey FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
);

CREATE TABLE dvr_fip_gateway_port_network (
    network_id VARCHAR(36) NOT NULL,
    agent_id VARCHAR(36) NOT NULL,
    CONSTRAINT dvr_fip_gateway_port_network_pkey PRIMARY KEY (network_id, agent_id),
    CONSTRAINT dvr_fip_gateway_port_network_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents (id) ON DELETE CASCADE,
    CONSTRAINT dvr_fip_gateway_port_network_network_id_fkey FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
);

CREATE TABLE dvr_host_macs (
    host VARCHAR(255) NOT NULL,
    mac_address VARCHAR(32) NOT NULL,
    CONSTRAINT dvr_host_macs_pkey PRIMARY KEY (host),
    CONSTRAINT dvr_host_macs_mac_address_key UNIQUE (mac_address)
);

CREATE TABLE vni_allocations (
    id VARCHAR(36) NOT NULL,
    vni INTEGER NOT NULL,
    physnet VARCHAR(64) NOT NULL,
    CONSTRAINT vni_allocations_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_vni_allocations0vni0physnet UNIQUE (vni, physnet)
);

CREATE TABLE vlan_allocations (
    id VARCHAR(36) NOT NULL,
    vlan_id INTEGER NOT NULL,
    physnet VARCHAR(64) NOT NULL,
    CONSTRAINT vlan_allocations_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_vlan_allocations0vlan_id0physnet UNIQUE (vlan_id, physnet)
);

CREATE TABLE vni_vlan_mapping (
    id VARCHAR(36) NOT NULL,
    vni_allocation_id VARCHAR(36) NOT NULL,
    vlan_allocation_id VARCHAR(36) NOT NULL,
    CONSTRAINT vni_vlan_mapping_pkey PRIMARY KEY (id),
    CONSTRAINT vni_vlan_mapping_vlan_allocation_id_key UNIQUE (vlan_allocation_id),
    CONSTRAINT vni_vlan_mapping_vni_allocation_id_key UNIQUE (vni_allocation_id),
    CONSTRAINT vni_vlan_mapping_vlan_allocation_id_fkey FOREIGN KEY (vlan_allocation_id) REFERENCES vlan_allocations (id) ON DELETE RESTRICT,
    CONSTRAINT vni_vlan_mapping_vni_allocation_id_fkey FOREIGN KEY (vni_allocation_id) REFERENCES vni_allocations (id) ON DELETE RESTRICT
);

CREATE TABLE evpn_l3_instances (
    router_id VARCHAR(36) NOT NULL,
    mapping_id VARCHAR(36) NOT NULL,
    CONSTRAINT evpn_l3_instances_pkey PRIMARY KEY (router_id),
    CONSTRAINT evpn_l3_instances_mapping_id_key UNIQUE (mapping_id),
    CONSTRAINT evpn_l3_instances_mapping_id_fkey FOREIGN KEY (mapping_id) REFERENCES vni_vlan_mapping (id) ON DELETE CASCADE,
    CONSTRAINT evpn_l3_instances_router_id_fkey FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE RESTRICT
);

CREATE TABLE evpn_networks (
    network_id VARCHAR(36) NOT NULL,
    router_id VARCHAR(36) NOT NULL,
    CONSTRAINT evpn_networks_pkey PRIMARY KEY (network_id),
    CONSTRAINT evpn_networks_network_id_fkey FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE RESTRICT,
    CONSTRAINT evpn_networks_router_id_fkey FOREIGN KEY (router_id) REFERENCES evpn_l3_instances (router_id) ON DELETE RESTRICT
);

CREATE TABLE evpn_advertised_ports (
    port_id VARCHAR(36) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    CONSTRAINT evpn_advertised_ports_pkey PRIMARY KEY (port_id),
    CONSTRAINT evpn_advertised_ports_network_id_fkey FOREIGN KEY (network_id) REFERENCES evpn_networks (network_id) ON DELETE CASCADE,
    CONSTRAINT evpn_advertised_ports_port_id_network_id_fkey FOREIGN KEY (port_id, network_id) REFERENCES ports (id, network_id) ON DELETE CASCADE
);

CREATE TABLE externalnetworks (
    network_id VARCHAR(36) NOT NULL,
    is_default BOOLEAN NOT NULL DEFAULT false,
    CONSTRAINT externalnetworks_pkey PRIMARY KEY (network_id),
    CONSTRAINT externalnetworks_network_id_fkey FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
);

CREATE TABLE extradhcpopts (
    id VARCHAR(36) NOT NULL,
    port_id VARCHAR(36) NOT NULL,
    opt_name VARCHAR(64) NOT NULL,
    opt_value VARCHAR(255) NOT NULL,
    ip_version INTEGER NOT NULL DEFAULT 4,
    CONSTRAINT extradhcpopts_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_extradhcpopts0portid0optname0ipversion UNIQUE (port_id, opt_name, ip_version),
    CONSTRAINT extradhcpopts_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
);

CREATE TABLE serviceprofiles (
    id VARCHAR(36) NOT NULL,
    description VARCHAR(1024),
    driver VARCHAR(1024) NOT NULL,
    enabled BOOLEAN NOT NULL DEFAULT true,
    metainfo VARCHAR(4096),
    CONSTRAINT serviceprofiles_pkey PRIMARY KEY (id)
);

CREATE TABLE flavorserviceprofilebindings (
    service_profile_id VARCHAR(36) NOT NULL,
    flavor_id VARCHAR(36) NOT NULL,
    CONSTRAINT flavorserviceprofilebindings_pkey PRIMARY KEY (service_profile_id, flavor_id),
    CONSTRAINT flavorserviceprofilebindings_flavor_id_fkey FOREIGN KEY (flavor_id) REFERENCES flavors (id) ON DELETE CASCADE,
    CONSTRAINT flavorserviceprofilebindings_service_profile_id_fkey FOREIGN KEY (service_profile_id) REFERENCES serviceprofiles (id) ON DELETE CASCADE
);

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
    CONSTRAINT floatingips_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_floatingips0floatingnetworkid0fixedportid0fixedipaddress UNIQUE (floating_network_id, fixed_port_id, fixed_ip_address),
    CONSTRAINT uniq_floatingips0standard_attr_id UNIQUE (standard_attr_id),
    CONSTRAINT floatingips_fixed_port_id_fkey FOREIGN KEY (fixed_port_id) REFERENCES ports (id),
    CONSTRAINT floatingips_floating_port_id_fkey FOREIGN KEY (floating_port_id) REFERENCES ports (id) ON DELETE CASCADE,
    CONSTRAINT floatingips_router_id_fkey FOREIGN KEY (router_id) REFERENCES routers (id),
    CONSTRAINT floatingips_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_floatingips_project_id ON floatingips (project_id);

CREATE TABLE floatingipdnses (
    floatingip_id VARCHAR(36) NOT NULL,
    dns_name VARCHAR(255) NOT NULL,
    dns_domain VARCHAR(255) NOT NULL,
    published_dns_name VARCHAR(255) NOT NULL,
    published_dns_domain VARCHAR(255) NOT NULL,
    CONSTRAINT floatingipdnses_pkey PRIMARY KEY (floatingip_id),
    CONSTRAINT floatingipdnses_floatingip_id_fkey FOREIGN KEY (floatingip_id) REFERENCES floatingips (id) ON DELETE CASCADE
);

CREATE TABLE ha_router_agent_port_bindings (
    port_id VARCHAR(36) NOT NULL,
    router_id VARCHAR(36) NOT NULL,
    l3_agent_id VARCHAR(36),
    state l3_ha_states DEFAULT 'standby'::l3_ha_states,
    CONSTRAINT ha_router_agent_port_bindings_pkey PRIMARY KEY (port_id),
    CONSTRAINT uniq_ha_router_agent_port_bindings0port_id0l3_agent_id UNIQUE (router_id, l3_agent_id),
    CONSTRAINT ha_router_agent_port_bindings_l3_agent_id_fkey FOREIGN KEY (l3_agent_id) REFERENCES agents (id) ON DELETE CASCADE,
    CONSTRAINT ha_router_agent_port_bindings_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    CONSTRAINT ha_router_agent_port_bindings_router_id_fkey FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE
);

CREATE TABLE ha_router_networks (
    project_id VARCHAR(255) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    CONSTRAINT ha_router_networks_pkey PRIMARY KEY (project_id, network_id),
    CONSTRAINT uniq_ha_router_networks0project_id UNIQUE (project_id),
    CONSTRAINT ha_router_networks_network_id_fkey FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
);

CREATE TABLE ha_router_vrid_allocations (
    network_id VARCHAR(36) NOT NULL,
    vr_id INTEGER NOT NULL,
    CONSTRAINT ha_router_vrid_allocations_pkey PRIMARY KEY (network_id, vr_id),
    CONSTRAINT ha_router_vrid_allocations_network_id_fkey FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
);

CREATE TABLE ipallocationpools (
    id VARCHAR(36) NOT NULL,
    subnet_id VARCHAR(36),
    first_ip VARCHAR(64) NOT NULL,
    last_ip VARCHAR(64) NOT NULL,
    CONSTRAINT ipallocationpools_pkey PRIMARY KEY (id),
    CONSTRAINT ipallocationpools_subnet_id_fkey FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
);

CREATE TABLE ipallocations (
    port_id VARCHAR(36),
    ip_address VARCHAR(64) NOT NULL,
    subnet_id VARCHAR(36) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    CONSTRAINT ipallocations_pkey PRIMARY KEY (ip_address, subnet_id, network_id),
    CONSTRAINT ipallocations_network_id_fkey FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE,
    CONSTRAINT ipallocations_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    CONSTRAINT ipallocations_subnet_id_fkey FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
);

CREATE TABLE ipamsubnets (
    id VARCHAR(36) NOT NULL,
    neutron_subnet_id VARCHAR(36),
    CONSTRAINT ipamsubnets_pkey PRIMARY KEY (id)
);

CREATE TABLE ipamallocationpools (
    id VARCHAR(36) NOT NULL,
    ipam_subnet_id VARCHAR(36) NOT NULL,
    first_ip VARCHAR(64) NOT NULL,
    last_ip VARCHAR(64) NOT NULL,
    CONSTRAINT ipamallocationpools_pkey PRIMARY KEY (id),
    CONSTRAINT ipamallocationpools_ipam_subnet_id_fkey FOREIGN KEY (ipam_subnet_id) REFERENCES ipamsubnets (id) ON DELETE CASCADE
);

CREATE TABLE ipamallocations (
    ip_address VARCHAR(64) NOT NULL,
    status VARCHAR(36),
    ipam_subnet_id VARCHAR(36) NOT NULL,
    CONSTRAINT ipamallocations_pkey PRIMARY KEY (ip_address, ipam_subnet_id),
    CONSTRAINT ipamallocations_ipam_subnet_id_fkey FOREIGN KEY (ipam_subnet_id) REFERENCES ipamsubnets (id) ON DELETE CASCADE
);

CREATE TABLE local_ips (
    id VARCHAR(36) NOT NULL,
    standard_attr_id BIGINT NOT NULL,
    name VARCHAR(255),
    project_id VARCHAR(255),
    local_port_id VARCHAR(36) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    local_ip_address VARCHAR(64) NOT NULL,
    ip_mode VARCHAR(32) NOT NULL,
    CONSTRAINT local_ips_pkey PRIMARY KEY (id),
    CONSTRAINT local_ips_standard_attr_id_key UNIQUE (standard_attr_id),
    CONSTRAINT local_ips_local_port_id_fkey FOREIGN KEY (local_port_id) REFERENCES ports (id),
    CONSTRAINT local_ips_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_local_ips_project_id ON local_ips (project_id);

CREATE TABLE local_ip_associations (
    local_ip_id VARCHAR(36) NOT NULL,
    fixed_port_id VARCHAR(36) NOT NULL,
    fixed_ip VARCHAR(64) NOT NULL,
    CONSTRAINT local_ip_associations_pkey PRIMARY KEY (local_ip_id, fixed_port_id),
    CONSTRAINT local_ip_associations_fixed_port_id_fkey FOREIGN KEY (fixed_port_id) REFERENCES ports (id) ON DELETE CASCADE,
    CONSTRAINT local_ip_associations_local_ip_id_fkey FOREIGN KEY (local_ip_id) REFERENCES local_ips (id)
);

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
    CONSTRAINT logs_pkey PRIMARY KEY (id),
    CONSTRAINT logs_standard_attr_id_key UNIQUE (standard_attr_id),
    CONSTRAINT logs_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_logs_project_id ON logs (project_id);
CREATE INDEX ix_logs_resource_id ON logs (resource_id);
CREATE INDEX ix_logs_target_id ON logs (target_id);

CREATE TABLE meteringlabels (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    description VARCHAR(1024),
    shared BOOLEAN DEFAULT false,
    CONSTRAINT meteringlabels_pkey PRIMARY KEY (id)
);
CREATE INDEX ix_meteringlabels_project_id ON meteringlabels (project_id);

CREATE TABLE meteringlabelrules (
    id VARCHAR(36) NOT NULL,
    direction meteringlabels_direction,
    remote_ip_prefix VARCHAR(64),
    metering_label_id VARCHAR(36) NOT NULL,
    excluded BOOLEAN DEFAULT false,
    source_ip_prefix VARCHAR(64),
    destination_ip_prefix VARCHAR(64),
    CONSTRAINT meteringlabelrules_pkey PRIMARY KEY (id),
    CONSTRAINT meteringlabelrules_metering_label_id_fkey FOREIGN KEY (metering_label_id) REFERENCES meteringlabels (id) ON DELETE CASCADE
);

CREATE TABLE ml2_distributed_port_bindings (
    port_id VARCHAR(36) NOT NULL,
    host VARCHAR(255) NOT NULL,
    router_id VARCHAR(36),
    vif_type VARCHAR(64) NOT NULL,
    vif_details VARCHAR(4095) NOT NULL DEFAULT ''::character varying,
    vnic_type VARCHAR(64) NOT NULL DEFAULT 'normal'::character varying,
    profile VARCHAR(4095) NOT NULL DEFAULT ''::character varying,
    status VARCHAR(16) NOT NULL,
    CONSTRAINT ml2_dvr_port_bindings_pkey PRIMARY KEY (port_id, host),
    CONSTRAINT ml2_dvr_port_bindings_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
);

CREATE TABLE ml2_flat_allocations (
    physical_network VARCHAR(64) NOT NULL,
    CONSTRAINT ml2_flat_allocations_pkey PRIMARY KEY (physical_network)
);

CREATE TABLE ml2_geneve_allocations (
    geneve_vni INTEGER NOT NULL,
    allocated BOOLEAN NOT NULL DEFAULT false,
    CONSTRAINT ml2_geneve_allocations_pkey PRIMARY KEY (geneve_vni)
);
CREATE INDEX ix_ml2_geneve_allocations_allocated ON ml2_geneve_allocations (allocated);

CREATE TABLE ml2_geneve_endpoints (
    ip_address VARCHAR(64) NOT NULL,
    host VARCHAR(255),
    CONSTRAINT ml2_geneve_endpoints_pkey PRIMARY KEY (ip_address),
    CONSTRAINT unique_ml2_geneve_endpoints0host UNIQUE (host)
);

CREATE TABLE ml2_gre_allocations (
    gre_id INTEGER NOT NULL,
    allocated BOOLEAN NOT NULL DEFAULT false,
    CONSTRAINT ml2_gre_allocations_pkey PRIMARY KEY (gre_id)
);
CREATE INDEX ix_ml2_gre_allocations_allocated ON ml2_gre_allocations (allocated);

CREATE TABLE ml2_gre_endpoints (
    ip_address VARCHAR(64) NOT NULL,
    host VARCHAR(255),
    CONSTRAINT ml2_gre_endpoints_pkey PRIMARY KEY (ip_address),
    CONSTRAINT unique_ml2_gre_endpoints0host UNIQUE (host)
);

CREATE TABLE ml2_port_binding_levels (
    port_id VARCHAR(36) NOT NULL,
    host VARCHAR(255) NOT NULL,
    level INTEGER NOT NULL,
    driver VARCHAR(64),
    segment_id VARCHAR(36),
    CONSTRAINT ml2_port_binding_levels_pkey PRIMARY KEY (port_id, host, level),
    CONSTRAINT ml2_port_binding_levels_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    CONSTRAINT ml2_port_binding_levels_segment_id_fkey FOREIGN KEY (segment_id) REFERENCES networksegments (id) ON DELETE SET NULL
);

CREATE TABLE ml2_port_bindings (
    port_id VARCHAR(36) NOT NULL,
    host VARCHAR(255) NOT NULL DEFAULT ''::character varying,
    vif_type VARCHAR(64) NOT NULL,
    vnic_type VARCHAR(64) NOT NULL DEFAULT 'normal'::character varying,
    profile VARCHAR(4095) NOT NULL DEFAULT ''::character varying,
    vif_details VARCHAR(4095) NOT NULL DEFAULT ''::character varying,
    status VARCHAR(16) NOT NULL DEFAULT 'ACTIVE'::character varying,
    CONSTRAINT pk_ml2_port_bindings PRIMARY KEY (port_id, host),
    CONSTRAINT ml2_port_bindings_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
);

CREATE TABLE ml2_vlan_allocations (
    physical_network VARCHAR(64) NOT NULL,
    vlan_id INTEGER NOT NULL,
    allocated BOOLEAN NOT NULL,
    CONSTRAINT ml2_vlan_allocations_pkey PRIMARY KEY (physical_network, vlan_id),
    CONSTRAINT check_ml2_vlan_allocations0vlan_id CHECK (vlan_id >= 1 AND vlan_id <= 4094)
);
CREATE INDEX ix_ml2_vlan_allocations_physical_network_allocated ON ml2_vlan_allocations (physical_network, allocated);

CREATE TABLE ml2_vxlan_allocations (
    vxlan_vni INTEGER NOT NULL,
    allocated BOOLEAN NOT NULL DEFAULT false,
    CONSTRAINT ml2_vxlan_allocations_pkey PRIMARY KEY (vxlan_vni)
);
CREATE INDEX ix_ml2_vxlan_allocations_allocated ON ml2_vxlan_allocations (allocated);

CREATE TABLE ml2_vxlan_endpoints (
    ip_address VARCHAR(64) NOT NULL,
    udp_port INTEGER NOT NULL,
    host VARCHAR(255),
    CONSTRAINT ml2_vxlan_endpoints_pkey PRIMARY KEY (ip_address),
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
    CONSTRAINT ndp_proxies_pkey PRIMARY KEY (id),
    CONSTRAINT ndp_proxies_standard_attr_id_key UNIQUE (standard_attr_id),
    CONSTRAINT uniq_ndp_proxy0router_id0ip_address UNIQUE (router_id, ip_address),
    CONSTRAINT ndp_proxies_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    CONSTRAINT ndp_proxies_router_id_fkey FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE,
    CONSTRAINT ndp_proxies_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_ndp_proxies_project_id ON ndp_proxies (project_id);

CREATE TABLE network_segment_ranges (
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    "default" BOOLEAN NOT NULL,
    shared BOOLEAN NOT NULL,
    project_id VARCHAR(255),
    network_type network_segment_range_network_type NOT NULL,
    physical_network VARCHAR(64) NOT NULL DEFAULT ''::character varying,
    minimum INTEGER,
    maximum INTEGER,
    standard_attr_id BIGINT NOT NULL,
    CONSTRAINT network_segment_ranges_pkey PRIMARY KEY (id),
    CONSTRAINT network_segment_ranges_standard_attr_id_key UNIQUE (standard_attr_id),
    CONSTRAINT uniq_network_segment_ranges UNIQUE ("default", network_type, physical_network, minimum, maximum),
    CONSTRAINT network_segment_ranges_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);

CREATE TABLE network_subnet_lock (
    network_id VARCHAR(36) NOT NULL,
    subnet_id VARCHAR(36),
    CONSTRAINT network_subnet_lock_pkey PRIMARY KEY (network_id),
    CONSTRAINT network_subnet_lock_network_id_fkey FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
);

CREATE TABLE networkdhcpagentbindings (
    network_id VARCHAR(36) NOT NULL,
    dhcp_agent_id VARCHAR(36) NOT NULL,
    binding_index INTEGER NOT NULL DEFAULT 1,
    CONSTRAINT networkdhcpagentbindings_pkey PRIMARY KEY (network_id, dhcp_agent_id),
    CONSTRAINT uniq_network_dhcp_agent_binding0network_id0binding_index0 UNIQUE (network_id, binding_index),
    CONSTRAINT networkdhcpagentbindings_dhcp_agent_id_fkey FOREIGN KEY (dhcp_agent_id) REFERENCES agents (id) ON DELETE CASCADE,
    CONSTRAINT networkdhcpagentbindings_network_id_fkey FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
);

CREATE TABLE networkdnsdomains (
    network_id VARCHAR(36) NOT NULL,
    dns_domain VARCHAR(255) NOT NULL,
    CONSTRAINT networkdnsdomains_pkey PRIMARY KEY (network_id),
    CONSTRAINT networkdnsdomains_network_id_fkey FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
);

CREATE TABLE networkpvlan (
    network_id VARCHAR(36) NOT NULL,
    pvlan BOOLEAN NOT NULL DEFAULT false,
    CONSTRAINT networkpvlan_pkey PRIMARY KEY (network_id),
    CONSTRAINT networkpvlan_network_id_fkey FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
);

CREATE TABLE networkrbacs (
    id VARCHAR(36) NOT NULL,
    object_id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255),
    target_project VARCHAR(255) NOT NULL,
    action VARCHAR(255) NOT NULL,
    CONSTRAINT networkrbacs_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_networkrbacs0target_project0object_id0action UNIQUE (target_project, object_id, action),
    CONSTRAINT networkrbacs_object_id_fkey FOREIGN KEY (object_id) REFERENCES networks (id) ON DELETE CASCADE
);
CREATE INDEX ix_networkrbacs_action ON networkrbacs (action);
CREATE INDEX ix_networkrbacs_project_id ON networkrbacs (project_id);
CREATE INDEX ix_networkrbacs_target_project ON networkrbacs (target_project);

CREATE TABLE networksecuritybindings (
    network_id VARCHAR(36) NOT NULL,
    port_security_enabled BOOLEAN NOT NULL,
    CONSTRAINT networksecuritybindings_pkey PRIMARY KEY (network_id),
    CONSTRAINT networksecuritybindings_network_id_fkey FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE
);

CREATE TABLE ovn_hash_ring (
    node_uuid VARCHAR(36) NOT NULL,
    group_name VARCHAR(256) NOT NULL,
    hostname VARCHAR(256) NOT NULL,
    created_at TIMESTAMP WITHOUT TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITHOUT TIME ZONE NOT NULL,
    CONSTRAINT ovn_hash_ring_pkey PRIMARY KEY (node_uuid, group_name)
);
CREATE INDEX ix_ovn_hash_ring_group_name ON ovn_hash_ring (group_name);
CREATE INDEX ix_ovn_hash_ring_node_uuid ON ovn_hash_ring (node_uuid);

CREATE TABLE ovn_revision_numbers (
    standard_attr_id BIGINT,
    resource_uuid VARCHAR(36) NOT NULL,
    resource_type VARCHAR(36) NOT NULL,
    revision_number BIGINT NOT NULL DEFAULT '0'::bigint,
    created_at TIMESTAMP WITHOUT TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITHOUT TIME ZONE,
    CONSTRAINT ovn_revision_numbers_pkey PRIMARY KEY (resource_uuid, resource_type),
    CONSTRAINT ovn_revision_numbers_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE SET NULL
);
CREATE INDEX ix_ovn_revision_numbers_resource_type ON ovn_revision_numbers (resource_type);
CREATE INDEX ix_ovn_revision_numbers_resource_uuid ON ovn_revision_numbers (resource_uuid);

CREATE TABLE portdataplanestatuses (
    port_id VARCHAR(36) NOT NULL,
    data_plane_status VARCHAR(16),
    CONSTRAINT portdataplanestatuses_pkey PRIMARY KEY (port_id),
    CONSTRAINT portdataplanestatuses_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
);

CREATE TABLE portdeviceprofiles (
    port_id VARCHAR(36) NOT NULL,
    device_profile VARCHAR(255),
    CONSTRAINT portdeviceprofiles_pkey PRIMARY KEY (port_id),
    CONSTRAINT portdeviceprofiles_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
);

CREATE TABLE portdnses (
    port_id VARCHAR(36) NOT NULL,
    current_dns_name VARCHAR(255) NOT NULL,
    current_dns_domain VARCHAR(255) NOT NULL,
    previous_dns_name VARCHAR(255) NOT NULL,
    previous_dns_domain VARCHAR(255) NOT NULL,
    dns_name VARCHAR(255) NOT NULL,
    dns_domain VARCHAR(255) NOT NULL DEFAULT ''::character varying,
    CONSTRAINT portdnses_pkey PRIMARY KEY (port_id),
    CONSTRAINT portdnses_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
);

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
    CONSTRAINT portforwardings_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_port_forwardings0floatingip_id0protocol0external_ports UNIQUE (floatingip_id, protocol, external_port_start, external_port_end),
    CONSTRAINT uniq_port_forwardings0ptcl0in_prt_id0in_ip_addr0in_prts UNIQUE (protocol, internal_neutron_port_id, internal_ip_address, internal_port_start, internal_port_end),
    CONSTRAINT uniq_portforwardings0standard_attr_id UNIQUE (standard_attr_id),
    CONSTRAINT portforwardings_floatingip_id_fkey FOREIGN KEY (floatingip_id) REFERENCES floatingips (id) ON DELETE CASCADE,
    CONSTRAINT portforwardings_internal_neutron_port_id_fkey FOREIGN KEY (internal_neutron_port_id) REFERENCES ports (id) ON DELETE CASCADE,
    CONSTRAINT portforwardings_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);

CREATE TABLE porthardwareoffloadtype (
    port_id VARCHAR(36) NOT NULL,
    hardware_offload_type VARCHAR(255),
    CONSTRAINT porthardwareoffloadtype_pkey PRIMARY KEY (port_id),
    CONSTRAINT porthardwareoffloadtype_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
);
CREATE INDEX ix_porthardwareoffloadtype_port_id ON porthardwareoffloadtype (port_id);

CREATE TABLE porthints (
    port_id VARCHAR(36) NOT NULL,
    hints VARCHAR(4095) NOT NULL,
    CONSTRAINT porthints_pkey PRIMARY KEY (port_id),
    CONSTRAINT porthints_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
);

CREATE TABLE portnumaaffinitypolicies (
    port_id VARCHAR(36) NOT NULL,
    numa_affinity_policy numa_affinity_policy,
    CONSTRAINT portnumaaffinitypolicies_pkey PRIMARY KEY (port_id),
    CONSTRAINT portnumaaffinitypolicies_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
);

CREATE TABLE portpvlan (
    port_id VARCHAR(36) NOT NULL,
    pvlan_type pvlan_type_enum NOT NULL,
    pvlan_community VARCHAR(255),
    CONSTRAINT portpvlan_pkey PRIMARY KEY (port_id),
    CONSTRAINT portpvlan_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
);

CREATE TABLE portsecuritybindings (
    port_id VARCHAR(36) NOT NULL,
    port_security_enabled BOOLEAN NOT NULL,
    CONSTRAINT portsecuritybindings_pkey PRIMARY KEY (port_id),
    CONSTRAINT portsecuritybindings_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
);

CREATE TABLE porttrusted (
    port_id VARCHAR(36) NOT NULL,
    trusted BOOLEAN,
    CONSTRAINT porttrusted_pkey PRIMARY KEY (port_id),
    CONSTRAINT porttrusted_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
);

CREATE TABLE portuplinkstatuspropagation (
    port_id VARCHAR(36) NOT NULL,
    propagate_uplink_status BOOLEAN NOT NULL DEFAULT true,
    CONSTRAINT portuplinkstatuspropagation_pkey PRIMARY KEY (port_id),
    CONSTRAINT portuplinkstatuspropagation_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
);

CREATE TABLE providerresourceassociations (
    provider_name VARCHAR(255) NOT NULL,
    resource_id VARCHAR(36) NOT NULL,
    CONSTRAINT providerresourceassociations_pkey PRIMARY KEY (provider_name, resource_id),
    CONSTRAINT providerresourceassociations_resource_id_key UNIQUE (resource_id)
);

CREATE TABLE provisioningblocks (
    standard_attr_id BIGINT NOT NULL,
    entity VARCHAR(255) NOT NULL,
    CONSTRAINT provisioningblocks_pkey PRIMARY KEY (standard_attr_id, entity),
    CONSTRAINT provisioningblocks_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);

CREATE TABLE qos_policies (
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    project_id VARCHAR(255),
    standard_attr_id BIGINT NOT NULL,
    CONSTRAINT qos_policies_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_qos_policies0standard_attr_id UNIQUE (standard_attr_id),
    CONSTRAINT qos_policies_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_qos_policies_project_id ON qos_policies (project_id);

CREATE TABLE qos_bandwidth_limit_rules (
    id VARCHAR(36) NOT NULL,
    qos_policy_id VARCHAR(36) NOT NULL,
    max_kbps INTEGER,
    max_burst_kbps INTEGER,
    direction directions NOT NULL DEFAULT 'egress'::directions,
    CONSTRAINT qos_bandwidth_limit_rules_pkey PRIMARY KEY (id),
    CONSTRAINT qos_bandwidth_rules0qos_policy_id0direction UNIQUE (qos_policy_id, direction),
    CONSTRAINT qos_bandwidth_limit_rules_qos_policy_id_fkey FOREIGN KEY (qos_policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE
);

CREATE TABLE qos_dscp_marking_rules (
    id VARCHAR(36) NOT NULL,
    qos_policy_id VARCHAR(36) NOT NULL,
    dscp_mark INTEGER,
    CONSTRAINT qos_dscp_marking_rules_pkey PRIMARY KEY (id),
    CONSTRAINT qos_dscp_marking_rules_qos_policy_id_key UNIQUE (qos_policy_id),
    CONSTRAINT qos_dscp_marking_rules_qos_policy_id_fkey FOREIGN KEY (qos_policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE
);

CREATE TABLE qos_fip_policy_bindings (
    policy_id VARCHAR(36) NOT NULL,
    fip_id VARCHAR(36) NOT NULL,
    CONSTRAINT qos_fip_policy_bindings_fip_id_key UNIQUE (fip_id),
    CONSTRAINT qos_fip_policy_bindings_fip_id_fkey FOREIGN KEY (fip_id) REFERENCES floatingips (id) ON DELETE CASCADE,
    CONSTRAINT qos_fip_policy_bindings_policy_id_fkey FOREIGN KEY (policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE
);

CREATE TABLE qos_minimum_bandwidth_rules (
    id VARCHAR(36) NOT NULL,
    qos_policy_id VARCHAR(36) NOT NULL,
    min_kbps INTEGER,
    direction directions NOT NULL DEFAULT 'egress'::directions,
    CONSTRAINT qos_minimum_bandwidth_rules_pkey PRIMARY KEY (id),
    CONSTRAINT qos_minimum_bandwidth_rules0qos_policy_id0direction UNIQUE (qos_policy_id, direction),
    CONSTRAINT qos_minimum_bandwidth_rules_qos_policy_id_fkey FOREIGN KEY (qos_policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE
);
CREATE INDEX ix_qos_minimum_bandwidth_rules_qos_policy_id ON qos_minimum_bandwidth_rules (qos_policy_id);

CREATE TABLE qos_minimum_packet_rate_rules (
    id VARCHAR(36) NOT NULL,
    qos_policy_id VARCHAR(36),
    min_kpps INTEGER NOT NULL,
    direction qos_minimum_packet_rate_rules_directions NOT NULL DEFAULT 'egress'::qos_minimum_packet_rate_rules_directions,
    CONSTRAINT qos_minimum_packet_rate_rules_pkey PRIMARY KEY (id),
    CONSTRAINT qos_minimum_packet_rate_rules0qos_policy_id0direction UNIQUE (qos_policy_id, direction),
    CONSTRAINT qos_minimum_packet_rate_rules_qos_policy_id_fkey FOREIGN KEY (qos_policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE
);
CREATE INDEX ix_qos_minimum_packet_rate_rules_qos_policy_id ON qos_minimum_packet_rate_rules (qos_policy_id);

CREATE TABLE qos_network_policy_bindings (
    policy_id VARCHAR(36) NOT NULL,
    network_id VARCHAR(36) NOT NULL,
    CONSTRAINT qos_network_policy_bindings_network_id_key UNIQUE (network_id),
    CONSTRAINT qos_network_policy_bindings_network_id_fkey FOREIGN KEY (network_id) REFERENCES networks (id) ON DELETE CASCADE,
    CONSTRAINT qos_network_policy_bindings_policy_id_fkey FOREIGN KEY (policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE
);

CREATE TABLE qos_packet_rate_limit_rules (
    id VARCHAR(36) NOT NULL,
    qos_policy_id VARCHAR(36) NOT NULL,
    max_kpps INTEGER,
    max_burst_kpps INTEGER,
    direction qos_packet_rate_limit_rules_directions NOT NULL DEFAULT 'egress'::qos_packet_rate_limit_rules_directions,
    CONSTRAINT qos_packet_rate_limit_rules_pkey PRIMARY KEY (id),
    CONSTRAINT qos_packet_rate_limit_rules0qos_policy_id0direction UNIQUE (qos_policy_id, direction),
    CONSTRAINT qos_packet_rate_limit_rules_qos_policy_id_fkey FOREIGN KEY (qos_policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE
);
CREATE INDEX ix_qos_packet_rate_limit_rules_qos_policy_id ON qos_packet_rate_limit_rules (qos_policy_id);

CREATE TABLE qos_policies_default (
    qos_policy_id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255) NOT NULL,
    CONSTRAINT qos_policies_default_pkey PRIMARY KEY (project_id),
    CONSTRAINT qos_policies_default_qos_policy_id_fkey FOREIGN KEY (qos_policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE
);

CREATE TABLE qos_port_policy_bindings (
    policy_id VARCHAR(36) NOT NULL,
    port_id VARCHAR(36) NOT NULL,
    CONSTRAINT qos_port_policy_bindings_port_id_key UNIQUE (port_id),
    CONSTRAINT qos_port_policy_bindings_policy_id_fkey FOREIGN KEY (policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE,
    CONSTRAINT qos_port_policy_bindings_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE
);

CREATE TABLE qos_router_gw_policy_bindings (
    policy_id VARCHAR(36) NOT NULL,
    router_id VARCHAR(36) NOT NULL,
    CONSTRAINT qos_router_gw_policy_bindings_pkey PRIMARY KEY (policy_id, router_id),
    CONSTRAINT qos_router_gw_policy_bindings_router_id_key UNIQUE (router_id),
    CONSTRAINT qos_router_gw_policy_bindings_policy_id_fkey FOREIGN KEY (policy_id) REFERENCES qos_policies (id) ON DELETE CASCADE,
    CONSTRAINT qos_router_gw_policy_bindings_router_id_fkey FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE
);

CREATE TABLE qospolicyrbacs (
    id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255),
    target_project VARCHAR(255) NOT NULL,
    action VARCHAR(255) NOT NULL,
    object_id VARCHAR(36) NOT NULL,
    CONSTRAINT qospolicyrbacs_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_qospolicyrbacs0target_project0object_id0action UNIQUE (target_project, object_id, action),
    CONSTRAINT qospolicyrbacs_object_id_fkey FOREIGN KEY (object_id) REFERENCES qos_policies (id) ON DELETE CASCADE
);
CREATE INDEX ix_qospolicyrbacs_action ON qospolicyrbacs (action);
CREATE INDEX ix_qospolicyrbacs_project_id ON qospolicyrbacs (project_id);
CREATE INDEX ix_qospolicyrbacs_target_project ON qospolicyrbacs (target_project);

CREATE TABLE quotas (
    id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255),
    resource VARCHAR(255),
    "limit" INTEGER,
    CONSTRAINT quotas_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_quotas0project_id0resource UNIQUE (project_id, resource)
);
CREATE INDEX ix_quotas_project_id ON quotas (project_id);

CREATE TABLE quotausages (
    project_id VARCHAR(255) NOT NULL,
    resource VARCHAR(255) NOT NULL,
    dirty BOOLEAN NOT NULL DEFAULT false,
    in_use INTEGER NOT NULL DEFAULT 0,
    reserved INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT quotausages_pkey PRIMARY KEY (project_id, resource)
);

CREATE TABLE reservations (
    id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255),
    expiration TIMESTAMP WITHOUT TIME ZONE,
    CONSTRAINT reservations_pkey PRIMARY KEY (id)
);

CREATE TABLE resourcedeltas (
    resource VARCHAR(255) NOT NULL,
    reservation_id VARCHAR(36) NOT NULL,
    amount INTEGER,
    CONSTRAINT resourcedeltas_pkey PRIMARY KEY (resource, reservation_id),
    CONSTRAINT resourcedeltas_reservation_id_fkey FOREIGN KEY (reservation_id) REFERENCES reservations (id) ON DELETE CASCADE
);

CREATE TABLE router_extra_attributes (
    router_id VARCHAR(36) NOT NULL,
    distributed BOOLEAN NOT NULL DEFAULT false,
    service_router BOOLEAN NOT NULL DEFAULT false,
    ha BOOLEAN NOT NULL DEFAULT false,
    ha_vr_id INTEGER,
    availability_zone_hints VARCHAR(255),
    enable_default_route_ecmp BOOLEAN NOT NULL DEFAULT false,
    enable_default_route_bfd BOOLEAN NOT NULL DEFAULT false,
    CONSTRAINT router_extra_attributes_pkey PRIMARY KEY (router_id),
    CONSTRAINT router_extra_attributes_router_id_fkey FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE
);

CREATE TABLE router_ndp_proxy_state (
    router_id VARCHAR(36) NOT NULL,
    enable_ndp_proxy BOOLEAN NOT NULL,
    CONSTRAINT router_ndp_proxy_state_pkey PRIMARY KEY (router_id),
    CONSTRAINT router_ndp_proxy_state_router_id_fkey FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE
);

CREATE TABLE routerl3agentbindings (
    router_id VARCHAR(36) NOT NULL,
    l3_agent_id VARCHAR(36) NOT NULL,
    binding_index INTEGER NOT NULL DEFAULT 1,
    CONSTRAINT routerl3agentbindings_pkey PRIMARY KEY (router_id, l3_agent_id),
    CONSTRAINT uniq_router_l3_agent_binding0router_id0binding_index0 UNIQUE (router_id, binding_index),
    CONSTRAINT routerl3agentbindings_l3_agent_id_fkey FOREIGN KEY (l3_agent_id) REFERENCES agents (id) ON DELETE CASCADE,
    CONSTRAINT routerl3agentbindings_router_id_fkey FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE
);

CREATE TABLE routerports (
    router_id VARCHAR(36) NOT NULL,
    port_id VARCHAR(36) NOT NULL,
    port_type VARCHAR(255),
    CONSTRAINT routerports_pkey PRIMARY KEY (router_id, port_id),
    CONSTRAINT uniq_routerports0port_id UNIQUE (port_id),
    CONSTRAINT routerports_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    CONSTRAINT routerports_router_id_fkey FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE
);

CREATE TABLE routerroutes (
    destination VARCHAR(64) NOT NULL,
    nexthop VARCHAR(64) NOT NULL,
    router_id VARCHAR(36) NOT NULL,
    CONSTRAINT routerroutes_pkey PRIMARY KEY (destination, nexthop, router_id),
    CONSTRAINT routerroutes_router_id_fkey FOREIGN KEY (router_id) REFERENCES routers (id) ON DELETE CASCADE
);

CREATE TABLE security_groups_default_statefulness (
    id VARCHAR(36) NOT NULL,
    project_id VARCHAR(255),
    stateful BOOLEAN NOT NULL DEFAULT true,
    CONSTRAINT security_groups_default_statefulness_pkey PRIMARY KEY (id),
    CONSTRAINT security_groups_default_statefulness_project_id_key UNIQUE (project_id)
);

CREATE TABLE securitygroupdefaultrules (
    id VARCHAR(36) NOT NULL,
    standard_attr_id BIGINT NOT NULL,
    remote_group_id VARCHAR(36),
    remote_address_group_id VARCHAR(36),
    direction defaultsecuritygrouprules_direction NOT NULL,
    ethertype VARCHAR(40),
    protocol VARCHAR(40),
    port_range_min INTEGER,
    port_range_max INTEGER,
    remote_ip_prefix VARCHAR(255),
    used_in_default_sg BOOLEAN NOT NULL DEFAULT false,
    used_in_non_default_sg BOOLEAN NOT NULL DEFAULT true,
    CONSTRAINT securitygroupdefaultrules_pkey PRIMARY KEY (id),
    CONSTRAINT securitygroupdefaultrules_standard_attr_id_key UNIQUE (standard_attr_id),
    CONSTRAINT securitygroupdefaultrules_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);

CREATE TABLE securitygroupportbindings (
    port_id VARCHAR(36) NOT NULL,
    security_group_id VARCHAR(36) NOT NULL,
    CONSTRAINT securitygroupportbindings_pkey PRIMARY KEY (port_id, security_group_id),
    CONSTRAINT securitygroupportbindings_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    CONSTRAINT securitygroupportbindings_security_group_id_fkey FOREIGN KEY (security_group_id) REFERENCES securitygroups (id) ON DELETE CASCADE
);

CREATE TABLE securitygrouprbacs (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    target_project VARCHAR(255) NOT NULL,
    action VARCHAR(255) NOT NULL,
    object_id VARCHAR(36) NOT NULL,
    CONSTRAINT securitygrouprbacs_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_securitygrouprbacs0target_project0object_id0action UNIQUE (target_project, object_id, action),
    CONSTRAINT securitygrouprbacs_object_id_fkey FOREIGN KEY (object_id) REFERENCES securitygroups (id) ON DELETE CASCADE
);
CREATE INDEX ix_securitygrouprbacs_action ON securitygrouprbacs (action);
CREATE INDEX ix_securitygrouprbacs_project_id ON securitygrouprbacs (project_id);
CREATE INDEX ix_securitygrouprbacs_target_project ON securitygrouprbacs (target_project);

CREATE TABLE securitygrouprules (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    security_group_id VARCHAR(36) NOT NULL,
    remote_group_id VARCHAR(36),
    direction securitygrouprules_direction,
    ethertype VARCHAR(40),
    protocol VARCHAR(40),
    port_range_min INTEGER,
    port_range_max INTEGER,
    remote_ip_prefix VARCHAR(255),
    standard_attr_id BIGINT NOT NULL,
    remote_address_group_id VARCHAR(36),
    CONSTRAINT securitygrouprules_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_securitygrouprules0standard_attr_id UNIQUE (standard_attr_id),
    CONSTRAINT securitygrouprules_remote_address_group_id_fkey FOREIGN KEY (remote_address_group_id) REFERENCES address_groups (id) ON DELETE CASCADE,
    CONSTRAINT securitygrouprules_remote_group_id_fkey FOREIGN KEY (remote_group_id) REFERENCES securitygroups (id) ON DELETE CASCADE,
    CONSTRAINT securitygrouprules_security_group_id_fkey FOREIGN KEY (security_group_id) REFERENCES securitygroups (id) ON DELETE CASCADE,
    CONSTRAINT securitygrouprules_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_securitygrouprules_project_id ON securitygrouprules (project_id);

CREATE TABLE segmenthostmappings (
    segment_id VARCHAR(36) NOT NULL,
    host VARCHAR(255) NOT NULL,
    CONSTRAINT segmenthostmappings_pkey PRIMARY KEY (segment_id, host),
    CONSTRAINT segmenthostmappings_segment_id_fkey FOREIGN KEY (segment_id) REFERENCES networksegments (id) ON DELETE CASCADE
);

CREATE TABLE subnet_bgp_leak_routes (
    subnet_id VARCHAR(36) NOT NULL,
    CONSTRAINT subnet_bgp_leak_routes_pkey PRIMARY KEY (subnet_id),
    CONSTRAINT subnet_bgp_leak_routes_subnet_id_fkey FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
);

CREATE TABLE subnet_dns_publish_fixed_ips (
    subnet_id VARCHAR(36) NOT NULL,
    dns_publish_fixed_ip BOOLEAN NOT NULL DEFAULT false,
    CONSTRAINT subnet_dns_publish_fixed_ips_pkey PRIMARY KEY (subnet_id),
    CONSTRAINT subnet_dns_publish_fixed_ips_subnet_id_fkey FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
);

CREATE TABLE subnet_service_types (
    subnet_id VARCHAR(36) NOT NULL,
    service_type VARCHAR(255) NOT NULL,
    CONSTRAINT subnet_service_types_pkey PRIMARY KEY (subnet_id, service_type),
    CONSTRAINT subnet_service_types_subnet_id_fkey FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
);

CREATE TABLE subnetpools (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    ip_version INTEGER NOT NULL,
    default_prefixlen INTEGER NOT NULL,
    min_prefixlen INTEGER NOT NULL,
    max_prefixlen INTEGER NOT NULL,
    shared BOOLEAN NOT NULL DEFAULT false,
    default_quota INTEGER,
    hash VARCHAR(36) NOT NULL DEFAULT ''::character varying,
    address_scope_id VARCHAR(36),
    is_default BOOLEAN NOT NULL DEFAULT false,
    standard_attr_id BIGINT NOT NULL,
    CONSTRAINT subnetpools_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_subnetpools0standard_attr_id UNIQUE (standard_attr_id),
    CONSTRAINT subnetpools_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_subnetpools_address_scope_id ON subnetpools (address_scope_id);
CREATE INDEX ix_subnetpools_project_id ON subnetpools (project_id);

CREATE TABLE subnetpoolprefixes (
    cidr VARCHAR(64) NOT NULL,
    subnetpool_id VARCHAR(36) NOT NULL,
    CONSTRAINT subnetpoolprefixes_pkey PRIMARY KEY (cidr, subnetpool_id),
    CONSTRAINT subnetpoolprefixes_subnetpool_id_fkey FOREIGN KEY (subnetpool_id) REFERENCES subnetpools (id) ON DELETE CASCADE
);

CREATE TABLE subnetpoolrbacs (
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    target_project VARCHAR(255) NOT NULL,
    action VARCHAR(255) NOT NULL,
    object_id VARCHAR(36) NOT NULL,
    CONSTRAINT subnetpoolrbacs_pkey PRIMARY KEY (id),
    CONSTRAINT uniq_subnetpoolrbacs0target_project0object_id0action UNIQUE (target_project, object_id, action),
    CONSTRAINT subnetpoolrbacs_object_id_fkey FOREIGN KEY (object_id) REFERENCES subnetpools (id) ON DELETE CASCADE
);
CREATE INDEX ix_subnetpoolrbacs_action ON subnetpoolrbacs (action);
CREATE INDEX ix_subnetpoolrbacs_project_id ON subnetpoolrbacs (project_id);
CREATE INDEX ix_subnetpoolrbacs_target_project ON subnetpoolrbacs (target_project);

CREATE TABLE subnetroutes (
    destination VARCHAR(64) NOT NULL,
    nexthop VARCHAR(64) NOT NULL,
    subnet_id VARCHAR(36) NOT NULL,
    CONSTRAINT subnetroutes_pkey PRIMARY KEY (destination, nexthop, subnet_id),
    CONSTRAINT subnetroutes_subnet_id_fkey FOREIGN KEY (subnet_id) REFERENCES subnets (id) ON DELETE CASCADE
);

CREATE TABLE trunks (
    admin_state_up BOOLEAN NOT NULL DEFAULT true,
    project_id VARCHAR(255),
    id VARCHAR(36) NOT NULL,
    name VARCHAR(255),
    port_id VARCHAR(36) NOT NULL,
    status VARCHAR(16) NOT NULL DEFAULT 'ACTIVE'::character varying,
    standard_attr_id BIGINT NOT NULL,
    CONSTRAINT trunks_pkey PRIMARY KEY (id),
    CONSTRAINT trunks_port_id_key UNIQUE (port_id),
    CONSTRAINT trunks_standard_attr_id_key UNIQUE (standard_attr_id),
    CONSTRAINT trunks_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    CONSTRAINT trunks_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);
CREATE INDEX ix_trunks_project_id ON trunks (project_id);

CREATE TABLE subports (
    port_id VARCHAR(36) NOT NULL,
    trunk_id VARCHAR(36) NOT NULL,
    segmentation_type VARCHAR(32) NOT NULL,
    segmentation_id INTEGER NOT NULL,
    CONSTRAINT subports_pkey PRIMARY KEY (port_id),
    CONSTRAINT uniq_subport0trunk_id0segmentation_type0segmentation_id UNIQUE (trunk_id, segmentation_type, segmentation_id),
    CONSTRAINT subports_port_id_fkey FOREIGN KEY (port_id) REFERENCES ports (id) ON DELETE CASCADE,
    CONSTRAINT subports_trunk_id_fkey FOREIGN KEY (trunk_id) REFERENCES trunks (id) ON DELETE CASCADE
);

CREATE TABLE tags (
    standard_attr_id BIGINT NOT NULL,
    tag VARCHAR(255) NOT NULL,
    CONSTRAINT tags_pkey PRIMARY KEY (standard_attr_id, tag),
    CONSTRAINT tags_standard_attr_id_fkey FOREIGN KEY (standard_attr_id) REFERENCES standardattributes (id) ON DELETE CASCADE
);

-- The rules that each new security group begins with. Their ids are random, as in the reference.
INSERT INTO standardattributes (id, resource_type, description) VALUES
    (1, 'securitygroupdefaultrules', 'Legacy default SG rule for egress traffic'),
    (2, 'securitygroupdefaultrules', 'Legacy default SG rule for egress traffic'),
    (3, 'securitygroupdefaultrules', 'Legacy default SG rule for ingress traffic'),
    (4, 'securitygroupdefaultrules', 'Legacy default SG rule for ingress traffic');
SELECT setval('standardattributes_id_seq', 4);
INSERT INTO securitygroupdefaultrules (
    id, standard_attr_id, remote_group_id, direction, ethertype, used_in_default_sg, used_in_non_default_sg
) VALUES
    (gen_random_uuid(), 1, NULL, 'egress', 'IPv4', true, true),
    (gen_random_uuid(), 2, NULL, 'egress', 'IPv6', true, true),
    (gen_random_uuid(), 3, 'PARENT', 'ingress', 'IPv4', true, false),
    (gen_random_uuid(), 4, 'PARENT', 'ingress', 'IPv6', true, false);
