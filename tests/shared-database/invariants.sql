-- Each query gives a line for each violation; what stands before it is its name (NUMBERS: I1 to I8). For MariaDB.

-- I1 an address is handed out once
SELECT CONCAT(subnet_id, ' ', ip_address) FROM ipallocations GROUP BY subnet_id, ip_address HAVING COUNT(*) > 1;
-- I1 what address management holds is some port's
SELECT CONCAT(s.neutron_subnet_id, ' ', a.ip_address) FROM ipamallocations a JOIN ipamsubnets s ON s.id = a.ipam_subnet_id LEFT JOIN ipallocations i ON i.subnet_id = s.neutron_subnet_id AND i.ip_address = a.ip_address WHERE i.port_id IS NULL;
-- I1 every port's address is held
SELECT CONCAT(i.subnet_id, ' ', i.ip_address) FROM ipallocations i LEFT JOIN ipamsubnets s ON s.neutron_subnet_id = i.subnet_id LEFT JOIN ipamallocations a ON a.ipam_subnet_id = s.id AND a.ip_address = i.ip_address WHERE a.ip_address IS NULL;
-- I1 no port has the gateway's address
SELECT i.port_id FROM ipallocations i JOIN subnets s ON s.id = i.subnet_id JOIN ports p ON p.id = i.port_id WHERE i.ip_address = s.gateway_ip AND p.device_owner NOT LIKE 'network:router%';
-- I2 a MAC address is in a network once
SELECT CONCAT(network_id, ' ', mac_address) FROM ports GROUP BY network_id, mac_address HAVING COUNT(*) > 1;
-- I3 no reservation is left
SELECT CONCAT(r.project_id, ' ', d.resource, ' ', d.amount) FROM reservations r JOIN resourcedeltas d ON d.reservation_id = r.id;
-- I3 no recorded usage that is believed is negative
SELECT CONCAT(project_id, ' ', resource, ' ', in_use) FROM quotausages WHERE dirty = 0 AND (in_use < 0 OR reserved < 0);
-- I4 an allocated VLAN has its segment
SELECT CONCAT(physical_network, ' ', vlan_id) FROM ml2_vlan_allocations a WHERE allocated = 1 AND NOT EXISTS (SELECT 1 FROM networksegments s WHERE s.network_type = 'vlan' AND s.physical_network = a.physical_network AND s.segmentation_id = a.vlan_id);
-- I4 a VLAN is of one segment
SELECT CONCAT(physical_network, ' ', segmentation_id) FROM networksegments WHERE network_type = 'vlan' GROUP BY physical_network, segmentation_id HAVING COUNT(*) > 1;
-- I4 the VLAN of a segment is allocated
SELECT s.id FROM networksegments s LEFT JOIN ml2_vlan_allocations a ON a.physical_network = s.physical_network AND a.vlan_id = s.segmentation_id WHERE s.network_type = 'vlan' AND COALESCE(a.allocated, 0) <> 1;
-- I4 an allocated VNI has its segment
SELECT vxlan_vni FROM ml2_vxlan_allocations WHERE allocated = 1 AND NOT EXISTS (SELECT 1 FROM networksegments s WHERE s.network_type = 'vxlan' AND s.segmentation_id = vxlan_vni);
-- I4 a VNI, GRE or Geneve id is of one segment
SELECT CONCAT(network_type, ' ', segmentation_id) FROM networksegments WHERE network_type IN ('vxlan', 'gre', 'geneve') GROUP BY network_type, segmentation_id HAVING COUNT(*) > 1;
-- I4 the VNI of a segment is allocated
SELECT s.id FROM networksegments s LEFT JOIN ml2_vxlan_allocations a ON a.vxlan_vni = s.segmentation_id WHERE s.network_type = 'vxlan' AND COALESCE(a.allocated, 0) <> 1;
-- I4 the GRE id of a segment is allocated
SELECT s.id FROM networksegments s LEFT JOIN ml2_gre_allocations a ON a.gre_id = s.segmentation_id WHERE s.network_type = 'gre' AND COALESCE(a.allocated, 0) <> 1;
-- I4 the Geneve id of a segment is allocated
SELECT s.id FROM networksegments s LEFT JOIN ml2_geneve_allocations a ON a.geneve_vni = s.segmentation_id WHERE s.network_type = 'geneve' AND COALESCE(a.allocated, 0) <> 1;
-- I4 an allocated GRE id has its segment
SELECT gre_id FROM ml2_gre_allocations WHERE allocated = 1 AND NOT EXISTS (SELECT 1 FROM networksegments s WHERE s.network_type = 'gre' AND s.segmentation_id = gre_id);
-- I4 an allocated Geneve id has its segment
SELECT geneve_vni FROM ml2_geneve_allocations WHERE allocated = 1 AND NOT EXISTS (SELECT 1 FROM networksegments s WHERE s.network_type = 'geneve' AND s.segmentation_id = geneve_vni);
-- I4 a flat network is of one segment
SELECT physical_network FROM networksegments WHERE network_type = 'flat' GROUP BY physical_network HAVING COUNT(*) > 1;
-- I4 a network has a segment
SELECT id FROM networks n WHERE NOT EXISTS (SELECT 1 FROM networksegments WHERE network_id = n.id);
-- I5 a row of standardattributes belongs to an object
SELECT CONCAT(s.id, ' ', s.resource_type) FROM standardattributes s WHERE (s.resource_type = 'ports' AND NOT EXISTS (SELECT 1 FROM ports WHERE standard_attr_id = s.id)) OR (s.resource_type = 'networks' AND NOT EXISTS (SELECT 1 FROM networks WHERE standard_attr_id = s.id)) OR (s.resource_type = 'subnets' AND NOT EXISTS (SELECT 1 FROM subnets WHERE standard_attr_id = s.id)) OR (s.resource_type = 'networksegments' AND NOT EXISTS (SELECT 1 FROM networksegments WHERE standard_attr_id = s.id)) OR (s.resource_type = 'securitygroups' AND NOT EXISTS (SELECT 1 FROM securitygroups WHERE standard_attr_id = s.id)) OR (s.resource_type = 'securitygrouprules' AND NOT EXISTS (SELECT 1 FROM securitygrouprules WHERE standard_attr_id = s.id)) OR (s.resource_type = 'subnetpools' AND NOT EXISTS (SELECT 1 FROM subnetpools WHERE standard_attr_id = s.id)) OR (s.resource_type = 'address_groups' AND NOT EXISTS (SELECT 1 FROM address_groups WHERE standard_attr_id = s.id)) OR (s.resource_type = 'network_segment_ranges' AND NOT EXISTS (SELECT 1 FROM network_segment_ranges WHERE standard_attr_id = s.id));
-- I5 a port has a binding
SELECT id FROM ports p WHERE NOT EXISTS (SELECT 1 FROM ml2_port_bindings WHERE port_id = p.id);
-- I5 a project has one default group
SELECT CONCAT(project_id, ' ', COUNT(*)) FROM securitygroups WHERE name = 'default' GROUP BY project_id HAVING COUNT(*) > 1;
-- I5 the default group of a project is its own
SELECT d.project_id FROM default_security_group d JOIN securitygroups g ON g.id = d.security_group_id WHERE g.project_id <> d.project_id;
-- I5 a default group has the rules that new groups begin with, at least those of its creation
SELECT g.id FROM securitygroups g JOIN default_security_group d ON d.security_group_id = g.id WHERE g.project_id LIKE '000000000000000000000000000f%' AND (SELECT COUNT(*) FROM securitygrouprules r WHERE r.security_group_id = g.id) <> 4;
-- I5 a network is with an agent once, and with as many as asked for
SELECT network_id FROM networkdhcpagentbindings GROUP BY network_id, binding_index HAVING COUNT(*) > 1;
-- I5 address management knows no subnet that is gone
SELECT id FROM ipamsubnets WHERE neutron_subnet_id NOT IN (SELECT id FROM subnets);
-- I5 address management knows every subnet
SELECT id FROM subnets WHERE id NOT IN (SELECT neutron_subnet_id FROM ipamsubnets WHERE neutron_subnet_id IS NOT NULL);
-- I6 two subnets of a network with one prefix
SELECT CONCAT(network_id, ' ', cidr) FROM subnets GROUP BY network_id, cidr HAVING COUNT(*) > 1;
-- I10 no ACTIVE port waits for anything
SELECT CONCAT(p.id, ' ', b.entity) FROM ports p JOIN provisioningblocks b ON b.standard_attr_id = p.standard_attr_id WHERE p.status = 'ACTIVE';
