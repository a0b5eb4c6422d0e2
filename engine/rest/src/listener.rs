use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// Ends of the connection that a request came by, among the request's extensions. None for Unix sockets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Connection {
    pub peer: Option<SocketAddr>,
    pub local: Option<SocketAddr>,
}

/// Where requests come from.
#[derive(Debug)]
pub enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Listener {
    /// Listens on `host:port`, or on `unix:/path/of/socket`; a socket that nobody serves any more is replaced.
    pub async fn bind(address: &str) -> io::Result<Listener> {
        match address.strip_prefix("unix:") {
            Some(path) => {
                let path = Path::new(path);
                remove_stale(path)?;
                Ok(Listener::Unix(UnixListener::bind(path)?, path.to_owned()))
            }
            None => Ok(Listener::Tcp(TcpListener::bind(address).await?)),
        }
    }

    /// The address that it got; None for Unix sockets.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        match self {
            Listener::Tcp(listener) => listener.local_addr().ok(),
            Listener::Unix(..) => None,
        }
    }

    pub(crate) async fn accept(&self) -> io::Result<(Stream, Connection)> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                // Answers are written whole; waiting for more would only add a delay. A socket that is gone says so when read.
                let _ = stream.set_nodelay(true);
                let local = stream.local_addr().ok();
                Ok((Stream::Tcp(stream), Connection { peer: Some(peer), local }))
            }
            Listener::Unix(listener, _) => Ok((Stream::Unix(listener.accept().await?.0), Connection::default())),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            // Someone may have removed it already.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl From<TcpListener> for Listener {
    fn from(listener: TcpListener) -> Listener {
        Listener::Tcp(listener)
    }
}

fn remove_stale(path: &Path) -> io::Result<()> {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return Ok(()) };
    let served = metadata.file_type().is_socket() && std::os::unix::net::UnixStream::connect(path).is_ok();
    if served || !metadata.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, format!("{} is in use", path.display())));
    }
    std::fs::remove_file(path)
}
