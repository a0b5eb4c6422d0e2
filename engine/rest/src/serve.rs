use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite};
use tower::Service;

use crate::listener::Stream;
use crate::{Connection, Limits, Listener};

/// How long to wait for the system after it refused a connection for lack of means.
const BACKOFF: Duration = Duration::from_millis(50);

/// Serves the router over HTTP/1 until `shutdown` is done, then takes no more connections, lets requests under way finish for at most
/// `limits.drain`, and closes.
pub async fn serve(
    listener: Listener,
    router: Router,
    limits: &Limits,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let graceful = GracefulShutdown::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((Stream::Tcp(stream), ends)) => connection(stream, ends, &router, limits, &graceful),
            Ok((Stream::Unix(stream), ends)) => connection(stream, ends, &router, limits, &graceful),
            Err(error) if is_of_the_client(&error) => {}
            Err(error) => {
                tracing::warn!(error = %error, "a connection could not be accepted; trying on");
                tokio::time::sleep(BACKOFF).await;
            }
        }
    }
    drop(listener);
    if tokio::time::timeout(limits.drain, graceful.shutdown()).await.is_err() {
        let seconds = limits.drain.as_secs();
        tracing::warn!("requests were still under way {seconds} s after the stop; their connections are closed");
    }
    Ok(())
}

fn is_of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

fn connection<S>(stream: S, ends: Connection, router: &Router, limits: &Limits, graceful: &GracefulShutdown)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let router = router.clone();
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let mut router = router.clone();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ends);
        async move { Ok::<_, Infallible>(unfailing(router.call(request).await)) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .keep_alive(limits.keep_alive)
        .serve_connection(TokioIo::new(stream), service);
    let watched = graceful.watch(served);
    tokio::spawn(async move {
        // Broken requests and clients that go away are no events of ours.
        if let Err(error) = watched.await {
            tracing::debug!(error = %error, "a connection ended early");
        }
    });
}

fn unfailing<T>(result: Result<T, Infallible>) -> T {
    match result {
        Ok(value) => value,
    }
}
