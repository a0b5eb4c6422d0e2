//! `[nova]`, and which events are sent.

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use config::{Config, Opt, Options};
use identity::keystone::{self, Interface};

use crate::auth::{LoginOptions, given};

static STATUS_CHANGES: Opt<bool> = Opt::bool("DEFAULT", "notify_nova_on_port_status_changes")
    .default("true")
    .help("Tell Nova when interfaces of its instances are plugged and unplugged, if [nova] says how to log in.");
static DATA_CHANGES: Opt<bool> = Opt::bool("DEFAULT", "notify_nova_on_port_data_changes")
    .default("true")
    .help("Tell Nova when ports of its instances are changed and deleted, if [nova] says how to log in.");
static INTERVAL: Opt<i64> =
    Opt::int("DEFAULT", "send_events_interval").min(1).default("2").help("Seconds between batches of events for Nova.");
static HTTP_RETRIES: Opt<i64> = Opt::int("DEFAULT", "http_retries")
    .min(0)
    .default("3")
    .help("Attempts to connect to Nova or its Keystone after the first.");
static LOGIN: LoginOptions = LoginOptions::of("nova");
static ENDPOINT_TYPE: Opt<String> = Opt::choice("nova", "endpoint_type", &["public", "admin", "internal"])
    .default("public")
    .help("Which of Nova's endpoints in the catalog is used.");

/// All of them.
pub static OPTIONS: Options = &[
    &STATUS_CHANGES,
    &DATA_CHANGES,
    &INTERVAL,
    &HTTP_RETRIES,
    &ENDPOINT_TYPE,
    &LOGIN.auth_type,
    &LOGIN.auth_section,
    &LOGIN.auth_url,
    &LOGIN.username,
    &LOGIN.user_id,
    &LOGIN.password,
    &LOGIN.user_domain_name,
    &LOGIN.user_domain_id,
    &LOGIN.project_name,
    &LOGIN.project_id,
    &LOGIN.project_domain_name,
    &LOGIN.project_domain_id,
    &LOGIN.default_domain_name,
    &LOGIN.default_domain_id,
    &LOGIN.domain_name,
    &LOGIN.domain_id,
    &LOGIN.system_scope,
    &LOGIN.credential_id,
    &LOGIN.credential_secret,
    &LOGIN.cafile,
    &LOGIN.certfile,
    &LOGIN.keyfile,
    &LOGIN.insecure,
    &LOGIN.region_name,
];

/// What Nova is told and how.
#[derive(Clone, Debug)]
pub struct Settings {
    pub login: keystone::Options,
    pub interface: Interface,
    pub region: Option<String>,
    /// Plugged, unplugged.
    pub status_changes: bool,
    /// Changed, deleted.
    pub data_changes: bool,
    /// Between batches.
    pub interval: Duration,
}

impl Settings {
    /// None if Nova is not to be told anything, or nobody said how to log in.
    pub fn read(config: &Config) -> anyhow::Result<Option<Settings>> {
        let (status_changes, data_changes) = (config.get(&STATUS_CHANGES)?, config.get(&DATA_CHANGES)?);
        if !LOGIN.is_set(config)? || !(status_changes || data_changes) {
            return Ok(None);
        }
        let mut login = LOGIN.read(config).context("for telling Nova about ports")?;
        login.retries = usize::try_from(config.get(&HTTP_RETRIES)?).unwrap_or(0).min(20);
        let interface = config.get(&ENDPOINT_TYPE)?;
        let interface = Interface::parse(&interface).ok_or_else(|| anyhow!("[nova] endpoint_type: '{interface}'"))?;
        Ok(Some(Settings {
            login,
            interface,
            region: given(config, &LOGIN.region_name)?,
            status_changes,
            data_changes,
            interval: Duration::from_secs(config.get(&INTERVAL)?.unsigned_abs().max(1)),
        }))
    }
}
