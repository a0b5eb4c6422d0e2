//! A small HTTP/1.1 client that costs next to nothing, so that the server is what is measured.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub struct Client {
    address: String,
    /// None after an answer that ended the connection.
    stream: Option<TcpStream>,
    buffer: Vec<u8>,
}

/// An administrator, where identities come from headers.
const IDENTITY: &str = "X-User-Id: bench\r\nX-Project-Id: admin\r\nX-Roles: admin,member,reader";

pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn expect(self, status: u16) -> anyhow::Result<Value> {
        if self.status != status {
            bail!("{} instead of {status}: {}", self.status, String::from_utf8_lossy(&self.body));
        }
        if self.body.is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_slice(&self.body)?) }
    }
}

/// The head of an answer.
struct Head {
    /// Bytes up to the body.
    end: usize,
    status: u16,
    body: Length,
    /// Whether the server ends the connection after it.
    last: bool,
}

enum Length {
    Bytes(usize),
    Chunks,
}

fn head(bytes: &[u8]) -> anyhow::Result<Option<Head>> {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let text = std::str::from_utf8(&bytes[..end])?;
    let mut lines = text.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).context("no status")?.parse()?;
    let (mut body, mut last) = (Length::Bytes(0), false);
    for line in lines {
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("content-length") {
            body = Length::Bytes(value.trim().parse()?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            body = Length::Chunks;
        } else if name.eq_ignore_ascii_case("connection") {
            last = value.trim().eq_ignore_ascii_case("close");
        }
    }
    Ok(Some(Head { end: end + 4, status, body, last }))
}

impl Client {
    pub async fn connect(address: &str) -> anyhow::Result<Client> {
        let stream = Some(open(address).await?);
        Ok(Client { address: address.to_owned(), stream, buffer: Vec::with_capacity(16384) })
    }

    async fn more(&mut self) -> anyhow::Result<()> {
        let stream = self.stream.as_mut().context("the connection is closed")?;
        if stream.read_buf(&mut self.buffer).await? == 0 {
            bail!("the server closed the connection");
        }
        Ok(())
    }

    async fn take(&mut self, count: usize) -> anyhow::Result<Vec<u8>> {
        while self.buffer.len() < count {
            self.more().await?;
        }
        let rest = self.buffer.split_off(count);
        Ok(std::mem::replace(&mut self.buffer, rest))
    }

    async fn line(&mut self) -> anyhow::Result<String> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|window| window == b"\r\n") {
                let line = self.take(end + 2).await?;
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            self.more().await?;
        }
    }

    pub async fn send(&mut self, method: &str, path: &str, body: &str) -> anyhow::Result<Answer> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: bench\r\n{IDENTITY}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        if self.stream.is_none() {
            self.stream = Some(open(&self.address).await?);
        }
        let stream = self.stream.as_mut().context("the connection is closed")?;
        stream.write_all(request.as_bytes()).await?;
        let Head { end, status, body, last } = loop {
            if let Some(head) = head(&self.buffer)? {
                break head;
            }
            self.more().await?;
        };
        self.take(end).await?;
        let body = match body {
            Length::Bytes(length) => self.take(length).await?,
            Length::Chunks => {
                let mut body = Vec::new();
                loop {
                    let size = usize::from_str_radix(self.line().await?.trim(), 16)?;
                    body.extend(self.take(size).await?);
                    self.line().await?;
                    if size == 0 {
                        break body;
                    }
                }
            }
        };
        if last {
            self.stream = None;
            self.buffer.clear();
        }
        Ok(Answer { status, body })
    }
}

async fn open(address: &str) -> anyhow::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// What a load came to.
pub struct Load {
    pub seconds: f64,
    /// Seconds of each answered request, sorted.
    pub times: Vec<f64>,
    pub failed: usize,
}

impl Load {
    fn at(&self, share: f64) -> f64 {
        let index = ((self.times.len() as f64 * share) as usize).min(self.times.len().saturating_sub(1));
        self.times.get(index).copied().unwrap_or(f64::NAN) * 1000.0
    }

    /// Answers a second.
    pub fn rate(&self) -> f64 {
        self.times.len() as f64 / self.seconds
    }

    pub fn p50_ms(&self) -> f64 {
        self.at(0.5)
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.rate();
        write!(f, "{rate:>8.0}/s   p50 {:.2} ms   p99 {:.2} ms", self.at(0.5), self.at(0.99))?;
        if self.failed > 0 {
            write!(f, "   {} FAILED", self.failed)?;
        }
        Ok(())
    }
}

/// Sends the same request over and over on each connection.
pub async fn load(
    address: &str,
    method: &'static str,
    path: &str,
    body: &str,
    connections: usize,
    time: Duration,
) -> anyhow::Result<Load> {
    let start = Instant::now();
    let until = start + time;
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..connections {
        let mut client = Client::connect(address).await?;
        let (path, body) = (path.to_owned(), body.to_owned());
        workers.spawn(async move {
            let (mut times, mut failed) = (Vec::new(), 0);
            while Instant::now() < until {
                let sent = Instant::now();
                let answer = client.send(method, &path, &body).await?;
                times.push(sent.elapsed().as_secs_f64());
                if answer.status >= 300 {
                    failed += 1;
                }
            }
            Ok::<_, anyhow::Error>((times, failed))
        });
    }
    let mut load = Load { seconds: 0.0, times: Vec::new(), failed: 0 };
    while let Some(done) = workers.join_next().await {
        let (times, failed) = done??;
        load.times.extend(times);
        load.failed += failed;
    }
    load.seconds = start.elapsed().as_secs_f64();
    load.times.sort_by(f64::total_cmp);
    Ok(load)
}
