//! The sender: answers the requests of one client and samples quinn's state.

use crate::report::{Report, monotonic_ns, state};
use crate::stop_request;
use crate::transport::TransportArguments;
use clap::Args;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Connection, Endpoint, RecvStream, SendStream, ServerConfig};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::MissedTickBehavior;

/// Bytes of one write.
const WRITE: usize = 65_536;

/// Arguments of the sender.
#[derive(Args, Clone, Debug)]
pub struct ServerArguments {
    #[arg(long)]
    address: IpAddr,
    #[arg(long, default_value_t = 4433)]
    port: u16,
    /// Length of each answer in bytes.
    #[arg(long, required_unless_present = "duration", conflicts_with = "duration")]
    response: Option<u64>,
    /// Time to send, from the client's start, in seconds.
    #[arg(long)]
    duration: Option<f64>,
    /// Certificate chain (PEM).
    #[arg(long)]
    certificate: PathBuf,
    /// Its private key (PEM).
    #[arg(long)]
    key: PathBuf,
    /// File for the report.
    #[arg(long)]
    report: PathBuf,
    /// Time between two samples, in milliseconds.
    #[arg(long, default_value_t = 10)]
    sample_ms: u64,
    #[command(flatten)]
    transport: TransportArguments,
}

/// Serves one connection until it is closed or the program is asked to stop.
pub async fn serve(arguments: &ServerArguments) -> Result<(), String> {
    let endpoint = Endpoint::server(config(arguments)?, SocketAddr::new(arguments.address, arguments.port))
        .map_err(|error| format!("{} port {}: {error}", arguments.address, arguments.port))?;
    let report = RefCell::new(Report::default());
    let connection = RefCell::new(None);
    let session = async {
        let incoming = endpoint.accept().await.ok_or("the socket was closed")?;
        let accepted = incoming.await.map_err(|error| format!("the handshake failed: {error}"))?;
        report.borrow_mut().started_ns = Some(monotonic_ns());
        connection.replace(Some(accepted.clone()));
        tokio::select! {
            served = answer_all(arguments, &accepted, &report) => served?,
            () = sample_all(arguments, &accepted, &report) => {}
        }
        report.borrow_mut().finished_ns = Some(monotonic_ns());
        Ok::<(), String>(())
    };
    let done = tokio::select! {
        done = session => done,
        () = stop_request() => Ok(()),
    };
    let mut report = report.into_inner();
    if let Some(connection) = connection.into_inner() {
        report.tell_connection(&connection);
    }
    report.failure = done.as_ref().err().cloned();
    report.write(&arguments.report)?;
    done
}

fn config(arguments: &ServerArguments) -> Result<ServerConfig, String> {
    let chain: Vec<_> = CertificateDer::pem_file_iter(&arguments.certificate)
        .and_then(Iterator::collect)
        .map_err(|error| format!("{}: {error}", arguments.certificate.display()))?;
    let key = PrivateKeyDer::from_pem_file(&arguments.key)
        .map_err(|error| format!("{}: {error}", arguments.key.display()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring has TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| format!("{}: {error}", arguments.certificate.display()))?;
    tls.alpn_protocols = vec![b"quiclab".to_vec()];
    let crypto = QuicServerConfig::try_from(tls).map_err(|error| error.to_string())?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(arguments.transport.config());
    Ok(config)
}

/// Answers each stream, one after the other, until the client closes.
async fn answer_all(
    arguments: &ServerArguments,
    connection: &Connection,
    report: &RefCell<Report>,
) -> Result<(), String> {
    while let Ok((send, receive)) = connection.accept_bi().await {
        if let Err(sentence) = answer(arguments, send, receive, report).await {
            // a client that has all it wants may close before its last acknowledgement
            return if connection.close_reason().is_some() { Ok(()) } else { Err(sentence) };
        }
    }
    Ok(())
}

async fn answer(
    arguments: &ServerArguments,
    mut send: SendStream,
    mut receive: RecvStream,
    report: &RefCell<Report>,
) -> Result<(), String> {
    static ZEROS: [u8; WRITE] = [0; WRITE];
    let broken = |error: &dyn std::error::Error| format!("the connection broke: {error}");
    let request = receive.read_to_end(1 << 20).await.map_err(|error| broken(&error))?;
    let started = request.get(..8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes);
    let started_ns = started.unwrap_or_else(monotonic_ns);
    let end_ns = arguments.duration.map(|seconds| started_ns + (seconds * 1e9) as u64);
    let mut left = arguments.response.unwrap_or(u64::MAX);
    while left > 0 && end_ns.is_none_or(|end| monotonic_ns() < end) {
        let length = usize::try_from(left).unwrap_or(WRITE).min(WRITE);
        let written = send.write(&ZEROS[..length]).await.map_err(|error| broken(&error))?;
        left -= written as u64;
        report.borrow_mut().bytes += written as u64;
    }
    send.finish().map_err(|error| broken(&error))
}

/// Samples until it is dropped.
async fn sample_all(arguments: &ServerArguments, connection: &Connection, report: &RefCell<Report>) {
    let mut interval = tokio::time::interval(Duration::from_millis(arguments.sample_ms.max(1)));
    interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        interval.tick().await;
        report.borrow_mut().sample(&state(connection));
    }
}
