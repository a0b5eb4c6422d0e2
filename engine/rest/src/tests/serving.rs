//! Over real sockets.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::Api;
use crate::{Limits, Listener, serve};

struct Server {
    address: std::net::SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<std::io::Result<()>>,
}

async fn start(api: &Api, limits: Limits) -> Server {
    let listener = Listener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let router = api.rest.router();
    let served = tokio::spawn(async move { serve(listener, router, &limits, async { drop(stopped.await) }).await });
    Server { address, stop: Some(stop), served }
}

impl Server {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn stop(mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        self.served.await.unwrap().unwrap();
    }
}

/// Reads one answer with a Content-Length: its head and its body.
async fn answer(stream: &mut TcpStream) -> (String, String) {
    let mut read = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let length = stream.read(&mut piece).await.unwrap();
        assert!(length > 0, "closed after {}", String::from_utf8_lossy(&read));
        read.extend_from_slice(&piece[..length]);
        let text = String::from_utf8_lossy(&read).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok());
        if body.len() >= length.unwrap_or(0) {
            return (head.to_owned(), body.to_owned());
        }
    }
}

#[tokio::test]
async fn a_connection_serves_one_request_after_another() {
    let api = Api::start().await;
    let server = start(&api, Limits::default()).await;
    let mut stream = server.connect().await;
    for _ in 0..3 {
        stream.write_all(b"GET /v2.0/things HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let (head, body) = answer(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
        assert_eq!(body, "{\"things\":[]}");
    }
    // Without a Host, links have the address that was called.
    stream.write_all(b"GET /v2.0/things?limit=1 HTTP/1.1\r\n\r\n").await.unwrap();
    let (_, body) = answer(&mut stream).await;
    assert!(body.contains(&format!("http://{}/v2.0/things?limit=1", server.address)), "{body}");
    server.stop().await;
}

#[tokio::test]
async fn requests_that_are_no_http_do_not_hurt() {
    let api = Api::start().await;
    let server = start(&api, Limits { header_timeout: Duration::from_millis(50), ..Limits::default() }).await;
    for garbage in
        [&b"\0\xff\r\n\r\n"[..], b"GET / HTTP/9.9\r\n\r\n", b"POST /v2.0/things HTTP/1.1\r\nContent-Length: -1\r\n\r\n"]
    {
        let mut stream = server.connect().await;
        stream.write_all(garbage).await.unwrap();
        let mut rest = String::new();
        // The server may close before it has read everything.
        let _ = stream.read_to_string(&mut rest).await;
        assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 4"), "{rest}");
    }
    // A head that does not end is cut off.
    let mut slow = server.connect().await;
    slow.write_all(b"GET / HTTP/1.1\r\nHost").await.unwrap();
    let mut rest = Vec::new();
    let _ = slow.read_to_end(&mut rest).await;
    let mut stream = server.connect().await;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    assert!(answer(&mut stream).await.0.starts_with("HTTP/1.1 200"));
    server.stop().await;
}

#[tokio::test]
async fn a_stop_lets_requests_under_way_finish() {
    let api = Api::start().await;
    let server = start(&api, Limits::default()).await;
    let body = json!({"thing": {"name": "late"}}).to_string();
    let mut stream = server.connect().await;
    let head = format!(
        "POST /v2.0/things HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // The server asks for the body, so it is in the middle of the request.
    let (head, _) = answer(&mut stream).await;
    assert!(head.starts_with("HTTP/1.1 100"), "{head}");
    let mut idle = server.connect().await;
    let address = server.address;
    let stopping = tokio::spawn(server.stop());
    // Idle connections are closed, new ones refused.
    assert_eq!(idle.read(&mut [0; 16]).await.unwrap_or(0), 0);
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    stream.write_all(body.as_bytes()).await.unwrap();
    let (head, body) = answer(&mut stream).await;
    assert!(head.starts_with("HTTP/1.1 201"), "{head}");
    assert!(body.contains("late"));
    stopping.await.unwrap();
    api.rest.idle().await;
}

#[tokio::test]
async fn a_write_ends_even_if_its_client_goes_away() {
    let api = Api::start().await;
    let server = start(&api, Limits::default()).await;
    // While this transaction is open, no other can write.
    let txn = api.system.store.write().await.unwrap();
    let body = json!({"thing": {"name": "orphan"}}).to_string();
    let mut stream = server.connect().await;
    let request = format!("POST /v2.0/things HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    while api.rest.inner.writes.is_empty() {
        tokio::task::yield_now().await;
    }
    drop(stream);
    server.stop().await;
    drop(txn);
    api.rest.idle().await;
    assert_eq!(api.get("/v2.0/things?fields=name").await.expect(200), json!({"things": [{"name": "orphan"}]}));
}

#[tokio::test]
async fn long_lists_come_in_chunks_and_are_whole() {
    let api = Api::start().await;
    for _ in 0..4 {
        let things: Vec<Value> =
            (0..250).map(|i| json!({"name": format!("n{i}"), "description": "d".repeat(200)})).collect();
        api.post("/v2.0/things?fields=id", json!({ "things": things })).await.expect(201);
    }
    let listed = api.get("/v2.0/things?limit=1000").await;
    assert!(!listed.headers.contains_key("content-length"));
    let listed = listed.expect(200);
    assert_eq!(listed["things"].as_array().unwrap().len(), 1000);
    assert_eq!(listed["things_links"].as_array().unwrap().len(), 2);
    let server = start(&api, Limits::default()).await;
    let mut stream = server.connect().await;
    stream.write_all(b"GET /v2.0/things HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert!(text.to_ascii_lowercase().contains("transfer-encoding: chunked"));
    assert!(text.ends_with("\r\n0\r\n\r\n"));
    server.stop().await;
}

#[tokio::test]
async fn an_oversized_body_gets_its_answer() {
    let api = Api::start().await;
    let server = start(&api, Limits::default()).await;
    let mut stream = server.connect().await;
    let length = 4 << 20;
    stream
        .write_all(format!("POST /v2.0/things HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n").as_bytes())
        .await
        .unwrap();
    stream.write_all(&vec![b' '; length]).await.unwrap();
    let (head, body) = answer(&mut stream).await;
    assert!(head.starts_with("HTTP/1.1 413"), "{head}");
    assert!(body.contains("HTTPRequestEntityTooLarge"));
    server.stop().await;
}

#[tokio::test]
async fn a_unix_socket_serves_and_goes_with_its_server() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("api.sock");
    let address = format!("unix:{}", path.display());
    let api = Api::start().await;
    // Left behind by a server that was killed.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let listener = Listener::bind(&address).await.unwrap();
    assert!(Listener::bind(&address).await.is_err(), "it is served");
    let (stop, stopped) = oneshot::channel::<()>();
    let router = api.rest.router();
    let served =
        tokio::spawn(async move { serve(listener, router, &Limits::default(), async { drop(stopped.await) }).await });
    let mut stream = tokio::net::UnixStream::connect(&path).await.unwrap();
    stream.write_all(b"GET /healthcheck HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 200") && text.ends_with("OK"), "{text}");
    stop.send(()).unwrap();
    served.await.unwrap().unwrap();
    assert!(!path.exists());
}
