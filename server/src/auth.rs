//! The options of who asks: `auth_strategy`, `[keystone_authtoken]`, and the authenticator that they come to. `[nova]` and others log in
//! with options of the same names ([`LoginOptions`]).

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use config::{Config, Opt, Options};
use identity::keystone::{self, Interface, Login, Named, Scope, Session, Tls};
use identity::{Authenticator, Basic, Keystone, Noauth};

static STRATEGY: Opt<String> = Opt::choice("DEFAULT", "auth_strategy", &["keystone", "noauth", "http_basic"])
    .default("keystone")
    .help("Who asks: by tokens of Keystone, by headers that are believed (noauth), or by passwords of a file (http_basic).");
static NOAUTH_ANYWHERE: Opt<bool> = Opt::bool("neutrino", "noauth_anywhere")
    .default("false")
    .help("Let auth_strategy = noauth serve addresses that others can reach.");
static PASSWORDS: Opt<String> = Opt::str("oslo_middleware", "http_basic_auth_user_file")
    .default("/etc/htpasswd")
    .help("Users and passwords of auth_strategy = http_basic, as `htpasswd -B` writes them.");
static GRACE: Opt<i64> = Opt::int("neutrino", "token_offline_grace").min(0).default("600").help(
    "Seconds beyond token_cache_time for which tokens that Keystone confirmed stay good while it does not answer.",
);

/// How one section says whom to log in as, with the names of keystoneauth's password plug-in.
pub struct LoginOptions {
    pub(crate) section: &'static str,
    pub(crate) auth_type: Opt<Option<String>>,
    pub(crate) auth_section: Opt<Option<String>>,
    pub(crate) auth_url: Opt<Option<String>>,
    pub(crate) username: Opt<Option<String>>,
    pub(crate) user_id: Opt<Option<String>>,
    pub(crate) password: Opt<Option<String>>,
    pub(crate) user_domain_name: Opt<Option<String>>,
    pub(crate) user_domain_id: Opt<Option<String>>,
    pub(crate) project_name: Opt<Option<String>>,
    pub(crate) project_id: Opt<Option<String>>,
    pub(crate) project_domain_name: Opt<Option<String>>,
    pub(crate) project_domain_id: Opt<Option<String>>,
    pub(crate) default_domain_name: Opt<Option<String>>,
    pub(crate) default_domain_id: Opt<Option<String>>,
    pub(crate) domain_name: Opt<Option<String>>,
    pub(crate) domain_id: Opt<Option<String>>,
    pub(crate) system_scope: Opt<Option<String>>,
    pub(crate) credential_id: Opt<Option<String>>,
    pub(crate) credential_secret: Opt<Option<String>>,
    pub(crate) cafile: Opt<Option<String>>,
    pub(crate) certfile: Opt<Option<String>>,
    pub(crate) keyfile: Opt<Option<String>>,
    pub(crate) insecure: Opt<bool>,
    pub region_name: Opt<Option<String>>,
}

const fn text(section: &'static str, name: &'static str, help: &'static str) -> Opt<Option<String>> {
    Opt::str(section, name).help(help).optional()
}

impl LoginOptions {
    pub const fn of(section: &'static str) -> LoginOptions {
        LoginOptions {
            section,
            auth_type: Opt::str(section, "auth_type")
                .help("How to log in: password, v3password or v3applicationcredential.")
                .optional(),
            auth_section: text(section, "auth_section", "Not supported: set the options of logging in here."),
            auth_url: text(section, "auth_url", "Address of Keystone, with or without /v3."),
            username: text(section, "username", "Name of the user to log in as."),
            user_id: text(section, "user_id", "Id of the user, instead of username."),
            password: Opt::str(section, "password").secret().help("Password of the user.").optional(),
            user_domain_name: text(section, "user_domain_name", "Name of the domain of the user."),
            user_domain_id: text(section, "user_domain_id", "Id of the domain of the user."),
            project_name: text(section, "project_name", "Name of the project that the token is for."),
            project_id: text(section, "project_id", "Id of the project that the token is for."),
            project_domain_name: text(section, "project_domain_name", "Name of the domain of the project."),
            project_domain_id: text(section, "project_domain_id", "Id of the domain of the project."),
            default_domain_name: text(
                section,
                "default_domain_name",
                "Domain of user and project that have none here.",
            ),
            default_domain_id: text(section, "default_domain_id", "The same by id."),
            domain_name: text(
                section,
                "domain_name",
                "Name of the domain that the token is for, instead of a project.",
            ),
            domain_id: text(section, "domain_id", "The same by id."),
            system_scope: text(section, "system_scope", "`all` for a token of system scope."),
            credential_id: text(section, "application_credential_id", "Id of the application credential."),
            credential_secret: Opt::str(section, "application_credential_secret")
                .secret()
                .help("Secret of the application credential.")
                .optional(),
            cafile: text(section, "cafile", "Authorities (PEM) to trust, instead of the system's."),
            certfile: text(section, "certfile", "Certificate (PEM) to show to servers that want one."),
            keyfile: text(section, "keyfile", "Key (PEM) of that certificate."),
            insecure: Opt::bool(section, "insecure").default("false").help("Trust any certificate."),
            region_name: text(section, "region_name", "Region whose endpoints of the catalog are used."),
        }
    }

    fn tls(&self, config: &Config) -> anyhow::Result<Tls> {
        let path = |option| anyhow::Ok(given(config, option)?.map(PathBuf::from));
        Ok(Tls {
            cafile: path(&self.cafile)?,
            certfile: path(&self.certfile)?,
            keyfile: path(&self.keyfile)?,
            insecure: config.get(&self.insecure)?,
        })
    }

    fn named(
        &self,
        config: &Config,
        id: &Opt<Option<String>>,
        name: &Opt<Option<String>>,
    ) -> anyhow::Result<Option<Named>> {
        Ok(match given(config, id)? {
            Some(id) => Some(Named::Id(id)),
            None => given(config, name)?.map(Named::Name),
        })
    }

    /// Whether the section says how to log in at all.
    pub fn is_set(&self, config: &Config) -> anyhow::Result<bool> {
        Ok(given(config, &self.auth_url)?.is_some())
    }

    /// How to log in and where; an error names what to set.
    pub fn read(&self, config: &Config) -> anyhow::Result<keystone::Options> {
        let section = self.section;
        if given(config, &self.auth_section)?.is_some() {
            bail!("[{section}] auth_section is not supported: set auth_url, username, password… in this section");
        }
        let auth_url = given(config, &self.auth_url)?
            .ok_or_else(|| anyhow!("[{section}] auth_url must be set: it says where Keystone is"))?;
        let default_domain = self.named(config, &self.default_domain_id, &self.default_domain_name)?;
        let kind = given(config, &self.auth_type)?.unwrap_or_else(|| "password".to_owned());
        let need = |option: &Opt<Option<String>>| {
            given(config, option)?.ok_or_else(|| anyhow!("[{section}] {} must be set", option.spec.name))
        };
        let login = match kind.as_str() {
            "password" | "v3password" => {
                let user = self
                    .named(config, &self.user_id, &self.username)?
                    .ok_or_else(|| anyhow!("[{section}] username must be set: it says who we are in Keystone"))?;
                let domain = self.named(config, &self.user_domain_id, &self.user_domain_name)?;
                let domain = domain.or_else(|| default_domain.clone());
                if matches!(user, Named::Name(_)) && domain.is_none() {
                    bail!("[{section}] user_domain_name must be set: names of users are unique in their domain only");
                }
                let project = self.named(config, &self.project_id, &self.project_name)?;
                let scope = if given(config, &self.system_scope)?.is_some() {
                    Scope::System
                } else if let Some(domain) = self.named(config, &self.domain_id, &self.domain_name)? {
                    Scope::Domain(domain)
                } else if let Some(project) = project {
                    let domain = self.named(config, &self.project_domain_id, &self.project_domain_name)?;
                    let domain = domain.or(default_domain);
                    if matches!(project, Named::Name(_)) && domain.is_none() {
                        bail!(
                            "[{section}] project_domain_name must be set: names of projects are unique in their domain only"
                        );
                    }
                    Scope::Project { project, domain }
                } else {
                    Scope::None
                };
                Login::Password { user, domain, password: need(&self.password)?, scope }
            }
            "v3applicationcredential" => {
                Login::ApplicationCredential { id: need(&self.credential_id)?, secret: need(&self.credential_secret)? }
            }
            other => bail!("[{section}] auth_type: '{other}' is not password, v3password or v3applicationcredential"),
        };
        Ok(keystone::Options {
            auth_url,
            login,
            www_authenticate_uri: None,
            interface: Interface::Internal,
            region: given(config, &self.region_name)?,
            tls: self.tls(config)?,
            timeout: Duration::from_secs(30),
            retries: 3,
            cache_time: None,
            grace: Duration::ZERO,
            service_roles: Vec::new(),
            service_roles_required: true,
            service_type: None,
        })
    }
}

/// The option's value; None also if it is empty.
pub fn given(config: &Config, option: &Opt<Option<String>>) -> anyhow::Result<Option<String>> {
    Ok(config.get(option)?.filter(|text| !text.is_empty()))
}

const SECTION: &str = "keystone_authtoken";
static LOGIN: LoginOptions = LoginOptions::of(SECTION);
static WWW_URI: Opt<Option<String>> = Opt::str(SECTION, "www_authenticate_uri")
    .deprecated(&[(SECTION, "auth_uri")])
    .help("Address of Keystone that clients without a token are sent to.")
    .optional();
static INTERFACE: Opt<String> = Opt::str(SECTION, "interface")
    .default("internal")
    .help("Which endpoint of Keystone is asked: public, internal or admin.");
static TIMEOUT: Opt<Option<i64>> = Opt::int(SECTION, "http_connect_timeout")
    .min(1)
    .help("Seconds that Keystone may take to answer; 30 if unset.")
    .optional();
static RETRIES: Opt<i64> = Opt::int(SECTION, "http_request_max_retries")
    .range(0, 20)
    .default("3")
    .help("Attempts to connect to Keystone after the first.");
static CACHE_TIME: Opt<i64> = Opt::int(SECTION, "token_cache_time")
    .min(-1)
    .default("300")
    .help("Seconds for which a token is not asked about again; -1 to ask for each request.");
static SERVICE_ROLES: Opt<Vec<String>> = Opt::list(SECTION, "service_token_roles")
    .default("service")
    .help("Roles of which a token has one that comes as X-Service-Token.");
static SERVICE_ROLES_REQUIRED: Opt<bool> = Opt::bool(SECTION, "service_token_roles_required")
    .default("true")
    .help("Reject service tokens without one of service_token_roles.");
static SERVICE_TYPE: Opt<Option<String>> = Opt::str(SECTION, "service_type")
    .help("Our name in access rules of application credentials; without it such credentials are rejected.")
    .optional();
static DELAY: Opt<bool> = Opt::bool(SECTION, "delay_auth_decision")
    .default("false")
    .help("Not supported: requests without a valid token are always rejected.");

/// What keystonemiddleware reads and has no meaning here: tokens are cached in this process.
macro_rules! ignored {
    ($($name:ident = $option:literal),* $(,)?) => {
        $(static $name: Opt<Option<String>> =
            Opt::str(SECTION, $option).help("Ignored: tokens are remembered in this process.").optional();)*
        static IGNORED: &[&Opt<Option<String>>] = &[$(&$name),*];
    };
}

ignored!(
    MEMCACHED_SERVERS = "memcached_servers",
    MEMCACHE_SERVERS = "memcache_servers",
    MEMCACHE_STRATEGY = "memcache_security_strategy",
    MEMCACHE_DEAD_RETRY = "memcache_pool_dead_retry",
    MEMCACHE_MAXSIZE = "memcache_pool_maxsize",
    MEMCACHE_SOCKET_TIMEOUT = "memcache_pool_socket_timeout",
    MEMCACHE_UNUSED_TIMEOUT = "memcache_pool_unused_timeout",
    MEMCACHE_GET_TIMEOUT = "memcache_pool_conn_get_timeout",
    MEMCACHE_ADVANCED = "memcache_use_advanced_pool",
    MEMCACHE_TLS = "memcache_tls_enabled",
    CACHE = "cache",
);
static MEMCACHE_KEY: Opt<Option<String>> = Opt::str(SECTION, "memcache_secret_key")
    .secret()
    .help("Ignored: tokens are remembered in this process.")
    .optional();
static CATALOG: Opt<bool> =
    Opt::bool(SECTION, "include_service_catalog").default("true").help("Ignored: catalogs of users are not needed.");
static BIND: Opt<Option<String>> =
    Opt::str(SECTION, "enforce_token_bind").help("Ignored: tokens of Keystone v3 are not bound.").optional();
static AUTH_VERSION: Opt<Option<String>> =
    Opt::str(SECTION, "auth_version").help("Ignored: it is always v3.").optional();

/// All of them.
pub static OPTIONS: Options = &[
    &STRATEGY,
    &NOAUTH_ANYWHERE,
    &PASSWORDS,
    &GRACE,
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
    &WWW_URI,
    &INTERFACE,
    &TIMEOUT,
    &RETRIES,
    &CACHE_TIME,
    &SERVICE_ROLES,
    &SERVICE_ROLES_REQUIRED,
    &SERVICE_TYPE,
    &DELAY,
    &MEMCACHED_SERVERS,
    &MEMCACHE_SERVERS,
    &MEMCACHE_STRATEGY,
    &MEMCACHE_DEAD_RETRY,
    &MEMCACHE_MAXSIZE,
    &MEMCACHE_SOCKET_TIMEOUT,
    &MEMCACHE_UNUSED_TIMEOUT,
    &MEMCACHE_GET_TIMEOUT,
    &MEMCACHE_ADVANCED,
    &MEMCACHE_TLS,
    &MEMCACHE_KEY,
    &CACHE,
    &CATALOG,
    &BIND,
    &AUTH_VERSION,
];

/// Who asks, as the configuration says; read when the server starts, since other commands read the same files and need none of it.
#[derive(Clone)]
pub struct Settings {
    config: Config,
    strategy: Strategy,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("strategy", &self.strategy).finish_non_exhaustive()
    }
}

/// `auth_strategy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    Keystone,
    Noauth,
    Basic,
}

impl Settings {
    pub fn read(config: &Config) -> anyhow::Result<Settings> {
        let strategy = match config.get(&STRATEGY)?.as_str() {
            "noauth" => Strategy::Noauth,
            "http_basic" => Strategy::Basic,
            _ => Strategy::Keystone,
        };
        Ok(Settings { config: config.clone(), strategy })
    }

    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Who finds out who asks, for a server that listens on `bind` (`host:port` or `unix:path`).
    pub fn authenticator(&self, bind: &str) -> anyhow::Result<Arc<dyn Authenticator>> {
        let config = &self.config;
        match self.strategy {
            Strategy::Noauth => {
                if !is_local(bind) && !config.get(&NOAUTH_ANYWHERE)? {
                    bail!(
                        "auth_strategy = noauth would make everybody who reaches {bind} an administrator; listen on 127.0.0.1, use \
                         keystone or http_basic, or set [neutrino] noauth_anywhere = true"
                    );
                }
                Ok(Arc::new(Noauth))
            }
            Strategy::Basic => {
                let path = config.get(&PASSWORDS)?;
                Ok(Arc::new(Basic::new(path.into()).context("[oslo_middleware] http_basic_auth_user_file")?))
            }
            Strategy::Keystone => {
                let options = keystone(config).context("auth_strategy is keystone (noauth is for trying out)")?;
                let session = Arc::new(Session::new(&options).context("[keystone_authtoken]")?);
                Ok(Arc::new(Keystone::new(options, session)))
            }
        }
    }
}

/// Whether only this machine can reach that.
fn is_local(bind: &str) -> bool {
    if bind.starts_with("unix:") {
        return true;
    }
    let host = bind.rsplit_once(':').map_or(bind, |(host, _)| host).trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn keystone(config: &Config) -> anyhow::Result<keystone::Options> {
    if config.get(&DELAY)? {
        bail!("[keystone_authtoken] delay_auth_decision is not supported");
    }
    let ignored: Vec<&str> =
        IGNORED.iter().filter(|option| config.is_set(&option.spec)).map(|option| option.spec.name).collect();
    if !ignored.is_empty() {
        tracing::warn!("[keystone_authtoken] {} ignored: tokens are remembered in this process", ignored.join(", "));
    }
    if !config.get(&SERVICE_ROLES_REQUIRED)? {
        tracing::warn!(
            "[keystone_authtoken] service_token_roles_required = false lets any user's token pass for a service's"
        );
    }
    let interface = config.get(&INTERFACE)?;
    let interface = Interface::parse(&interface)
        .ok_or_else(|| anyhow!("[keystone_authtoken] interface: '{interface}' is not public, internal or admin"))?;
    let www_authenticate_uri = given(config, &WWW_URI)?;
    if www_authenticate_uri.is_none() {
        tracing::warn!(
            "[keystone_authtoken] www_authenticate_uri is not set; clients without a token are sent to auth_url"
        );
    }
    let seconds = |value: i64| u64::try_from(value).ok().filter(|value| *value > 0).map(Duration::from_secs);
    let own = LOGIN.read(config)?;
    Ok(keystone::Options {
        www_authenticate_uri,
        interface,
        timeout: config.get(&TIMEOUT)?.and_then(seconds).unwrap_or(own.timeout),
        retries: usize::try_from(config.get(&RETRIES)?).unwrap_or(own.retries),
        cache_time: seconds(config.get(&CACHE_TIME)?),
        grace: seconds(config.get(&GRACE)?).unwrap_or(Duration::ZERO),
        service_roles: config.get(&SERVICE_ROLES)?,
        service_roles_required: config.get(&SERVICE_ROLES_REQUIRED)?,
        service_type: given(config, &SERVICE_TYPE)?,
        ..own
    })
}
