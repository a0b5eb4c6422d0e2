use std::sync::Arc;

use axum::Router;
use identity::Authenticator;
use resource::System;
use schema::Fault;
use tokio_util::task::TaskTracker;

use crate::routes::Routes;
use crate::{Options, exchange};

/// The REST API of a system.
#[derive(Clone)]
pub struct Rest {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub system: Arc<System>,
    pub authenticator: Arc<dyn Authenticator>,
    pub options: Options,
    pub routes: Routes,
    /// Writes under way, which a client that goes away does not stop.
    pub writes: TaskTracker,
}

impl Rest {
    /// Fails when two endpoints of the system claim the same path and method.
    pub fn new(system: Arc<System>, authenticator: Arc<dyn Authenticator>, options: Options) -> Result<Rest, Fault> {
        let routes = Routes::of(&system)?;
        let writes = TaskTracker::new();
        Ok(Rest { inner: Arc::new(Inner { system, authenticator, options, routes, writes }) })
    }

    /// Everything as a router, to which a server may add its own paths.
    pub fn router(&self) -> Router {
        let inner = self.inner.clone();
        Router::new().fallback(move |request| exchange::run(inner.clone(), request))
    }

    /// Waits until no write is under way. For the end of a server: [`crate::serve`] waits for answers, this also for writes whose client
    /// went away.
    pub async fn idle(&self) {
        self.inner.writes.close();
        self.inner.writes.wait().await;
        self.inner.writes.reopen();
    }
}
