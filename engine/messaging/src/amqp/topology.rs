//! Exchanges, queues and bindings, declared as oslo.messaging declares them.
//!
//! What exists with other properties is used as it is: a durable `neutron` exchange that another service made is one all the
//! same. The broker answers such a declaration by closing the channel, so functions here take a connection and give the channel
//! that is open afterwards.

use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::protocol::{AMQPErrorKind, AMQPSoftError};
use lapin::types::FieldTable;
use lapin::{Channel, ErrorKind, ExchangeKind};

use super::link::Live;
use crate::TransportError;

/// An exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exchange {
    pub name: String,
    pub fanout: bool,
    pub durable: bool,
    pub auto_delete: bool,
}

/// A queue.
#[derive(Clone, Debug)]
pub(super) struct QueueSpec {
    pub name: String,
    pub durable: bool,
    pub auto_delete: bool,
    pub arguments: FieldTable,
}

/// Names and keys are short strings of AMQP: at most 255 bytes.
pub(super) fn check_name(name: &str) -> Result<(), TransportError> {
    match name.len() {
        0..=255 => Ok(()),
        length => {
            let begin: String = name.chars().take(40).collect();
            Err(TransportError::Closed(format!("the name {begin}… has {length} bytes; a queue's has at most 255")))
        }
    }
}

/// Whether the object exists, made otherwise.
fn is_different(error: &lapin::Error) -> bool {
    let ErrorKind::ProtocolError(error) = error.kind() else { return false };
    matches!(error.kind(), AMQPErrorKind::Soft(AMQPSoftError::PRECONDITIONFAILED))
}

/// Declares an exchange.
pub(super) async fn exchange(live: &Live, mut channel: Channel, exchange: &Exchange) -> lapin::Result<Channel> {
    let kind = || if exchange.fanout { ExchangeKind::Fanout } else { ExchangeKind::Topic };
    let options = ExchangeDeclareOptions {
        durable: exchange.durable,
        auto_delete: exchange.auto_delete,
        ..ExchangeDeclareOptions::default()
    };
    let name = exchange.name.as_str();
    match channel.exchange_declare(name.into(), kind(), options, FieldTable::default()).await {
        Err(error) if is_different(&error) => {
            tracing::warn!(exchange = name, "the exchange exists with other properties and is used as it is: {error}");
            channel = live.channel().await?;
            let options = ExchangeDeclareOptions { passive: true, ..options };
            channel.exchange_declare(name.into(), kind(), options, FieldTable::default()).await?;
            Ok(channel)
        }
        done => done.map(|()| channel),
    }
}

/// Declares a queue.
pub(super) async fn queue(live: &Live, mut channel: Channel, queue: &QueueSpec) -> lapin::Result<Channel> {
    let options = QueueDeclareOptions {
        durable: queue.durable,
        auto_delete: queue.auto_delete,
        ..QueueDeclareOptions::default()
    };
    let name = queue.name.as_str();
    match channel.queue_declare(name.into(), options, queue.arguments.clone()).await {
        Err(error) if is_different(&error) => {
            tracing::warn!(queue = name, "the queue exists with other properties and is used as it is: {error}");
            channel = live.channel().await?;
            let options = QueueDeclareOptions { passive: true, ..options };
            channel.queue_declare(name.into(), options, FieldTable::default()).await?;
            Ok(channel)
        }
        done => done.map(|_| channel),
    }
}

/// Binds a queue to an exchange under a key.
pub(super) async fn bind(channel: &Channel, queue: &str, exchange: &str, key: &str) -> lapin::Result<()> {
    let options = QueueBindOptions::default();
    channel.queue_bind(queue.into(), exchange.into(), key.into(), options, FieldTable::default()).await
}

/// Messages that wait in a queue and consumers of it; an error closes the channel.
pub(super) async fn look(channel: &Channel, queue: &str) -> lapin::Result<(u32, u32)> {
    let options = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    let queue = channel.queue_declare(queue.into(), options, FieldTable::default()).await?;
    Ok((queue.message_count(), queue.consumer_count()))
}
