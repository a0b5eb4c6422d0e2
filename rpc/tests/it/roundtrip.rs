//! Client to trait and back over the in-process bus.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use messaging::{Bus, CallError, Context, Dispatcher, Endpoint, InProcess, ListenOptions, RemoteFault};
use rpc::api::{Encoded, Nothing};
use rpc::dhcp::{
    DhcpClient, DhcpPlugin, DhcpPluginEndpoint, MetadataClient, MetadataPlugin, MetadataPluginEndpoint, NetworkInfo,
    PortBody, PortRequest,
};
use rpc::l2::Device;
use rpc::l2pop::{Entries, FdbEntries, L2popAgent, L2popAgentEndpoint, L2popNotifier, PortInfo};
use rpc::view::{NetworkView, PortView};
use rpc::{objects, resources, topics};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

struct Plugin;

#[async_trait]
impl DhcpPlugin for Plugin {
    async fn get_active_networks_info(
        &self,
        _: &Context,
        host: String,
        enable_dhcp_filter: bool,
        _: Option<u32>,
        _: Option<String>,
    ) -> Result<Encoded<Vec<NetworkInfo>>, RemoteFault> {
        assert!(enable_dhcp_filter);
        Ok(Encoded::json(json!([{"id": host}])))
    }
    async fn get_network_info(
        &self,
        _: &Context,
        _: String,
        _: String,
    ) -> Result<Encoded<Option<NetworkInfo>>, RemoteFault> {
        Ok(None.into())
    }
    async fn create_dhcp_port(
        &self,
        _: &Context,
        _: PortBody,
        _: String,
    ) -> Result<Encoded<Option<PortView>>, RemoteFault> {
        Err(RemoteFault::neutron("IpAddressGenerationFailure", "none left on net-1", Map::new()))
    }
    async fn update_dhcp_port(
        &self,
        _: &Context,
        port_id: String,
        body: PortBody,
        _: String,
    ) -> Result<Encoded<Option<PortView>>, RemoteFault> {
        let network = body.port.network_id.unwrap_or_default();
        Ok(Encoded::json(json!({"id": port_id, "network_id": network, "mac_address": "fa:16:3e:00:00:01"})))
    }
    async fn release_dhcp_port(&self, _: &Context, _: String, _: String, _: String) -> Result<Nothing, RemoteFault> {
        Ok(Nothing)
    }
    async fn get_dhcp_port(&self, _: &Context, _: String) -> Result<Encoded<Option<PortView>>, RemoteFault> {
        Ok(None.into())
    }
    async fn dhcp_ready_on_ports(&self, _: &Context, _: Vec<String>) -> Result<Nothing, RemoteFault> {
        Ok(Nothing)
    }
    async fn get_networks(
        &self,
        _: &Context,
        _: Option<Map<String, Value>>,
        _: Option<Vec<String>>,
    ) -> Result<Encoded<Vec<NetworkView>>, RemoteFault> {
        Ok(Vec::new().into())
    }
}

#[async_trait]
impl MetadataPlugin for Plugin {
    async fn get_ports(&self, _: &Context, _: Map<String, Value>) -> Result<Encoded<Vec<PortView>>, RemoteFault> {
        Ok(Vec::new().into())
    }
}

#[tokio::test]
async fn agents_ask_the_server() {
    let bus: Bus = Arc::new(InProcess::new());
    let plugin = Arc::new(Plugin);
    let dispatcher = Dispatcher::new()
        .with(Arc::new(DhcpPluginEndpoint(Arc::clone(&plugin))))
        .with(Arc::new(MetadataPluginEndpoint(plugin)));
    let _l = rpc::listen(&bus, "ctl", &[topics::PLUGIN], dispatcher, ListenOptions::default()).await.unwrap();
    let (client, context) = (DhcpClient::new(Arc::clone(&bus)), Context::admin());
    let networks = client.get_active_networks_info(&context, "cmp1".into(), true, None, None).await.unwrap();
    assert_eq!(networks[0].id, "cmp1");
    assert_eq!(client.get_network_info(&context, "n".into(), "h".into()).await.unwrap(), None);
    let body = PortBody { port: PortRequest { network_id: Some("n".into()), ..PortRequest::default() } };
    let full = client.create_dhcp_port(&context, body.clone(), "h".into()).await.unwrap_err();
    assert_eq!(full.class(), Some("IpAddressGenerationFailure"));
    let port = client.update_dhcp_port(&context, "p".into(), body, "h".into()).await.unwrap().unwrap();
    assert_eq!((port.id.as_str(), port.network_id.as_str()), ("p", "n"));
    client.dhcp_ready_on_ports(&context, vec!["p".into()]).await.unwrap();
    assert!(MetadataClient::new(bus).get_ports(&context, Map::new()).await.unwrap().is_empty());
}

#[tokio::test]
async fn wrong_arguments_are_a_fault_and_no_panic() {
    let endpoint = DhcpPluginEndpoint(Arc::new(Plugin));
    for (method, args) in [
        ("get_active_networks_info", json!({})),
        ("create_dhcp_port", json!({"port": 7, "host": "h"})),
        ("dhcp_ready_on_ports", json!({"port_ids": {"a": 1}})),
    ] {
        let fault = endpoint.handle(&Context::admin(), method, args.as_object().cloned().unwrap()).await.unwrap_err();
        assert_eq!(fault.class, "TypeError", "{method}");
        assert!(fault.message.starts_with(method));
    }
    let more = json!({"host": "h", "of_the_future": 1}).as_object().cloned().unwrap();
    assert!(endpoint.handle(&Context::admin(), "get_active_networks_info", more).await.is_ok());
}

struct Agent(mpsc::UnboundedSender<String>, Mutex<Vec<FdbEntries>>);

#[async_trait]
impl L2popAgent for Agent {
    async fn add_fdb_entries(&self, _: &Context, fdb: FdbEntries, host: Option<String>) -> Result<(), RemoteFault> {
        assert_eq!(host, None);
        self.1.lock().unwrap().push(fdb);
        self.0.send("add".into()).unwrap();
        Ok(())
    }
    async fn remove_fdb_entries(&self, _: &Context, _: FdbEntries, _: Option<String>) -> Result<(), RemoteFault> {
        Ok(())
    }
    async fn update_fdb_entries(
        &self,
        _: &Context,
        _: rpc::l2pop::ChangedIps,
        _: Option<String>,
    ) -> Result<(), RemoteFault> {
        Ok(())
    }
}

#[async_trait]
impl resources::ResourcesAgent for Agent {
    async fn push(
        &self,
        _: &Context,
        objects: Vec<objects::Object>,
        event: resources::Event,
    ) -> Result<(), RemoteFault> {
        self.0.send(format!("{event:?} {}", objects[0].id().unwrap_or_default())).unwrap();
        Ok(())
    }
}

#[tokio::test]
async fn the_server_tells_agents() {
    let bus: Bus = Arc::new(InProcess::new());
    let (tx, mut heard) = mpsc::unbounded_channel();
    let agent = Arc::new(Agent(tx, Mutex::default()));
    let dispatcher = Dispatcher::new()
        .with(Arc::new(L2popAgentEndpoint(Arc::clone(&agent))))
        .with(Arc::new(resources::ResourcesAgentEndpoint(Arc::clone(&agent))));
    let listened = [topics::L2POPULATION_UPDATE, "neutron-vo-Port-1.11"];
    let _l = rpc::listen(&bus, "cmp1", &listened, dispatcher, ListenOptions::in_order()).await.unwrap();
    let (notifier, context) = (L2popNotifier::new(Arc::clone(&bus)), Context::admin());
    let ports = [("192.0.2.1".parse().unwrap(), vec![PortInfo::FLOOD])].into();
    let entries = Entries { segment_id: Some(7), network_type: "vxlan".into(), ports };
    let fdb: FdbEntries = [("n".to_owned(), entries)].into();
    for to in [notifier.everyone(), notifier.server("cmp1"), notifier.server("cmp2")] {
        to.add_fdb_entries(&context, fdb.clone(), None).await.unwrap();
    }
    assert_eq!(heard.recv().await.unwrap(), "add");
    assert_eq!(heard.recv().await.unwrap(), "add");
    assert_eq!(agent.1.lock().unwrap().as_slice(), [fdb.clone(), fdb]);

    let port = objects::Port { id: "p".into(), ..objects::Port::default() };
    let object = objects::Object::of(&port).unwrap();
    let notifier = resources::ResourcesNotifier::new(bus);
    resources::push(&notifier, &context, vec![object], resources::Event::Deleted).await.unwrap();
    assert_eq!(heard.recv().await.unwrap(), "Deleted p");
}

#[tokio::test]
async fn a_server_that_is_too_old_is_told_apart() {
    let bus: Bus = Arc::new(InProcess::new());
    let dispatcher = Dispatcher::new().with(Arc::new(MetadataPluginEndpoint(Arc::new(Plugin))));
    let _l = rpc::listen(&bus, "ctl", &[topics::PLUGIN], dispatcher, ListenOptions::default()).await.unwrap();
    let client = DhcpClient::new(bus);
    let old = client.dhcp_ready_on_ports(&Context::admin(), vec![]).await;
    assert!(matches!(old, Err(CallError::UnsupportedVersion { .. })));
    let old = client.get_network_info(&Context::admin(), String::new(), String::new()).await;
    assert!(matches!(old, Err(CallError::NoSuchMethod { .. })));
}

#[tokio::test]
async fn many_devices_are_reported_in_steps() {
    let fake = messaging::FakeBus::new();
    fake.on_call("update_device_list", |_, args| {
        let down: Vec<Value> = args["devices_down"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|device| json!({"device": device, "exists": true}))
            .collect();
        Ok(json!({"devices_up": args["devices_up"], "failed_devices_up": [], "devices_down": down}))
    });
    let client = rpc::l2::PluginClient::new(Arc::new(fake.clone()));
    let up: Vec<Device> = (0..45).map(|n| Device::from(format!("tap{n}"))).collect();
    let all = client.report_devices(&Context::admin(), &up, &up[..3], "lb1", "cmp1", true).await.unwrap();
    assert_eq!((all.devices_up, all.devices_down.len()), (up, 3));
    assert_eq!(fake.sent_as("update_device_list").len(), 3);
    let none = client.report_devices(&Context::admin(), &[], &[], "lb1", "cmp1", false).await.unwrap();
    assert_eq!((none, fake.sent().len()), (rpc::l2::DeviceList::default(), 3));
}
