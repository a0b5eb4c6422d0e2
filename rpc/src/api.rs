//! How an API is said once: the `api!` macro gives, from one declaration, the typed client, the trait to implement, the
//! endpoint that decodes arguments and encodes results, and a table by which tests and documentation walk all methods.
//!
//! Kinds of methods:
//! - `call`: has a result; the trait returns it typed.
//! - `query`: a call whose result may be large; the trait returns [`Encoded`], so that a server which already has the JSON
//!   need not build structs only to take them apart.
//! - `cast`: no result, to where the client was narrowed: `client.server("host")`, or `client.everyone()`.
//! - `fanout`: no result, always to every listener, each method on a topic of its own.

use std::marker::PhantomData;

use messaging::Version;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// One API: what a set of methods is called and where it is served.
#[derive(Debug)]
pub struct Api {
    pub name: &'static str,
    /// Newest version served. Clients ask for the version in which a method appeared.
    pub version: Version,
    pub methods: &'static [Method],
}

/// How a method travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Call,
    Cast,
    Fanout,
}

/// One method of an API.
#[derive(Debug)]
pub struct Method {
    pub name: &'static str,
    pub kind: Kind,
    pub topic: &'static str,
    /// Version the client asks for.
    pub since: Version,
    pub args: &'static [&'static str],
    recode_args: fn(Map<String, Value>) -> Result<Value, serde_json::Error>,
    recode_result: fn(Value) -> Result<Value, serde_json::Error>,
}

impl Method {
    #[doc(hidden)]
    pub const fn new(
        name: &'static str,
        kind: Kind,
        topic: &'static str,
        since: Version,
        args: &'static [&'static str],
        recode_args: fn(Map<String, Value>) -> Result<Value, serde_json::Error>,
        recode_result: fn(Value) -> Result<Value, serde_json::Error>,
    ) -> Self {
        Self { name, kind, topic, since, args, recode_args, recode_result }
    }

    /// Decodes arguments into their types and encodes them again: what a peer that speaks this contract would send.
    pub fn recode_args(&self, args: Map<String, Value>) -> Result<Value, serde_json::Error> {
        (self.recode_args)(args)
    }

    /// The same for a result.
    pub fn recode_result(&self, result: Value) -> Result<Value, serde_json::Error> {
        (self.recode_result)(result)
    }
}

#[doc(hidden)]
pub fn recode<T: Serialize + DeserializeOwned>(value: Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_value::<T>(value)?)
}

/// The result of a method that has none. Whatever a peer answers is accepted; we answer null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nothing;

impl Serialize for Nothing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl<'de> Deserialize<'de> for Nothing {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// The result of a `query`: typed, or JSON that the server vouches for.
#[derive(Debug)]
pub struct Encoded<T> {
    json: Result<Value, serde_json::Error>,
    of: PhantomData<fn() -> T>,
}

impl<T> Encoded<T> {
    /// JSON that decodes as `T`.
    #[must_use]
    pub fn json(json: Value) -> Self {
        Self { json: Ok(json), of: PhantomData }
    }

    #[doc(hidden)]
    pub fn into_json(self) -> Result<Value, serde_json::Error> {
        self.json
    }
}

impl<T: DeserializeOwned> Encoded<T> {
    /// The typed result, for tests of servers.
    pub fn decode(self) -> Result<T, serde_json::Error> {
        serde_json::from_value(self.json?)
    }
}

impl<T: Serialize> From<T> for Encoded<T> {
    fn from(value: T) -> Self {
        Self { json: serde_json::to_value(value), of: PhantomData }
    }
}

/// See the module head.
macro_rules! api {
    (
        $(#[$doc:meta])*
        trait $Trait:ident, client $Client:ident, endpoint $Endpoint:ident, table $TABLE:ident,
        topic $topic:expr, version ($major:literal, $minor:literal);
        $(
            $(#[$mdoc:meta])*
            $kind:ident ($vmajor:literal, $vminor:literal) $([$mtopic:expr])?
            fn $method:ident ( $( $(#[$ameta:meta])* $arg:ident : $ty:ty ),* $(,)? ) $(-> $ret:ty)? ;
        )*
    ) => {
        $(#[$doc])*
        ///
        /// The serving side. Serve it with the endpoint of the same name.
        #[async_trait::async_trait]
        pub trait $Trait: Send + Sync + 'static {
            $(
                $(#[$mdoc])*
                #[allow(clippy::too_many_arguments, reason = "the arguments are the wire's")]
                async fn $method(&self, context: &messaging::Context, $($arg: $ty),*)
                    -> Result<api!(@served $kind $($ret)?), messaging::RemoteFault>;
            )*
        }

        /// The asking side of
        #[doc = concat!("[`", stringify!($Trait), "`].")]
        #[derive(Clone)]
        pub struct $Client {
            client: messaging::Client,
        }

        #[allow(dead_code, reason = "which narrowings an API needs depends on its methods")]
        impl $Client {
            #[must_use]
            pub fn new(bus: messaging::Bus) -> Self {
                Self { client: messaging::Client::new(bus, messaging::Target::topic($topic)) }
            }

            /// Shares timeouts that grow with the other clients of the process.
            #[must_use]
            pub fn timeouts(self, timeouts: std::sync::Arc<messaging::Timeouts>) -> Self {
                Self { client: self.client.timeouts(timeouts) }
            }

            /// Calls wait exactly this long.
            #[must_use]
            pub fn timeout(self, timeout: std::time::Duration) -> Self {
                Self { client: self.client.timeout(timeout) }
            }

            /// Narrowed to the listener on one host.
            #[must_use]
            pub fn server(&self, host: &str) -> Self {
                Self { client: self.client.server(host) }
            }

            /// Widened to every listener.
            #[must_use]
            pub fn everyone(&self) -> Self {
                Self { client: self.client.fanout() }
            }

            /// Another topic than the API's own, e.g. that of one type of resource, or one an agent reported.
            #[must_use]
            pub fn on_topic(&self, topic: &str) -> Self {
                Self { client: self.client.topic(topic) }
            }

            $(
                $(#[$mdoc])*
                #[allow(clippy::too_many_arguments, reason = "the arguments are the wire's")]
                pub async fn $method(&self, context: &messaging::Context, $($arg: $ty),*)
                    -> api!(@asked $kind $($ret)?)
                {
                    #[derive(serde::Serialize)]
                    struct Args { $( $(#[$ameta])* $arg: $ty ),* }
                    let client = api!(@client $kind self $($mtopic)?);
                    let version = messaging::Version::new($vmajor, $vminor);
                    let args = Args { $($arg),* };
                    api!(@send $kind client, context, version, stringify!($method), &args)
                }
            )*
        }

        /// Serves a
        #[doc = concat!("[`", stringify!($Trait), "`]")]
        /// to a dispatcher: decodes arguments, calls, encodes results.
        pub struct $Endpoint<T: ?Sized>(pub std::sync::Arc<T>);

        #[async_trait::async_trait]
        impl<T: $Trait + ?Sized> messaging::Endpoint for $Endpoint<T> {
            fn version(&self) -> messaging::Version {
                $TABLE.version
            }

            fn methods(&self) -> &[&'static str] {
                &[$(stringify!($method)),*]
            }

            async fn handle(
                &self,
                context: &messaging::Context,
                method: &str,
                args: serde_json::Map<String, serde_json::Value>,
            ) -> Result<serde_json::Value, messaging::RemoteFault> {
                match method {
                    $(
                        stringify!($method) => {
                            #[derive(serde::Deserialize)]
                            struct Args { $( $(#[$ameta])* $arg: $ty ),* }
                            #[allow(unused_variables, reason = "a method may have no arguments")]
                            let args: Args = serde_json::from_value(serde_json::Value::Object(args))
                                .map_err(|error| messaging::RemoteFault::bad_arguments(method, error))?;
                            let result = self.0.$method(context, $(args.$arg),*).await?;
                            api!(@encode $kind result)
                                .map_err(|error| messaging::RemoteFault::internal(format!("{method}: {error}")))
                        }
                    )*
                    _ => Err(messaging::RemoteFault::no_such_method(method)),
                }
            }
        }

        /// The methods of
        #[doc = concat!("[`", stringify!($Trait), "`].")]
        pub static $TABLE: $crate::api::Api = $crate::api::Api {
            name: stringify!($Trait),
            version: messaging::Version::new($major, $minor),
            methods: &[$({
                #[derive(serde::Serialize, serde::Deserialize)]
                struct Args { $( $(#[$ameta])* $arg: $ty ),* }
                $crate::api::Method::new(
                    stringify!($method),
                    api!(@kind $kind),
                    api!(@topic $topic $(, $mtopic)?),
                    messaging::Version::new($vmajor, $vminor),
                    &[$(stringify!($arg)),*],
                    |args| $crate::api::recode::<Args>(serde_json::Value::Object(args)),
                    $crate::api::recode::<api!(@result $kind $($ret)?)>,
                )
            }),*],
        };
    };

    (@kind call) => { $crate::api::Kind::Call };
    (@kind query) => { $crate::api::Kind::Call };
    (@kind cast) => { $crate::api::Kind::Cast };
    (@kind fanout) => { $crate::api::Kind::Fanout };

    (@topic $topic:expr) => { $topic };
    (@topic $topic:expr, $own:expr) => { $own };

    (@served call $ret:ty) => { $ret };
    (@served query $ret:ty) => { $crate::api::Encoded<$ret> };
    (@served cast) => { () };
    (@served fanout) => { () };

    (@asked call $ret:ty) => { Result<$ret, messaging::CallError> };
    (@asked query $ret:ty) => { Result<$ret, messaging::CallError> };
    (@asked cast) => { Result<(), messaging::TransportError> };
    (@asked fanout) => { Result<(), messaging::TransportError> };

    (@result call $ret:ty) => { $ret };
    (@result query $ret:ty) => { $ret };
    (@result cast) => { $crate::api::Nothing };
    (@result fanout) => { $crate::api::Nothing };

    (@client fanout $self:ident) => { $self.client.fanout() };
    (@client fanout $self:ident $own:expr) => { $self.client.topic($own).fanout() };
    (@client $kind:ident $self:ident) => { $self.client.clone() };
    (@client $kind:ident $self:ident $own:expr) => { $self.client.topic($own) };

    (@send call $client:ident, $($args:expr),*) => { $client.call($($args),*).await };
    (@send query $client:ident, $($args:expr),*) => { $client.call($($args),*).await };
    (@send cast $client:ident, $($args:expr),*) => { $client.cast($($args),*).await };
    (@send fanout $client:ident, $($args:expr),*) => { $client.cast($($args),*).await };

    (@encode query $result:ident) => { $result.into_json() };
    (@encode $kind:ident $result:ident) => { serde_json::to_value($result) };
}
pub(crate) use api;
