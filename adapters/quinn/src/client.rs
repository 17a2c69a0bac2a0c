//! The receiver: asks, reads, pauses and asks again.

use crate::report::{Report, monotonic_ns};
use crate::stop_request;
use crate::transport::TransportArguments;
use clap::Args;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint, VarInt};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{KeyLogFile, RootCertStore};
use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Time between two samples of the bytes that were read, in nanoseconds.
const SAMPLE_NS: u64 = 10_000_000;
/// Time to send the close in.
const CLOSE: Duration = Duration::from_millis(5);

/// Arguments of the receiver.
#[derive(Args, Clone, Debug)]
pub struct ClientArguments {
    #[arg(long)]
    address: IpAddr,
    #[arg(long, default_value_t = 4433)]
    port: u16,
    /// Length of each request in bytes.
    #[arg(long)]
    request: usize,
    /// Number of requests.
    #[arg(long, default_value_t = 1)]
    count: u32,
    /// Pause between an answer and the next request, in seconds.
    #[arg(long, default_value_t = 0.0)]
    pause: f64,
    /// The only certificate that is trusted (PEM).
    #[arg(long)]
    certificate: PathBuf,
    /// Name in it.
    #[arg(long)]
    name: String,
    /// File for the report.
    #[arg(long)]
    report: PathBuf,
    #[command(flatten)]
    transport: TransportArguments,
}

/// Receives everything, or until the program is asked to stop.
pub async fn receive(arguments: &ClientArguments) -> Result<(), String> {
    let report = RefCell::new(Report::default());
    let done = tokio::select! {
        done = transfer(arguments, &report) => done,
        () = stop_request() => Ok(()),
    };
    let mut report = report.into_inner();
    report.failure = done.as_ref().err().cloned();
    report.write(&arguments.report)?;
    done
}

async fn transfer(arguments: &ClientArguments, report: &RefCell<Report>) -> Result<(), String> {
    let unspecified = if arguments.address.is_ipv4() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED)
    } else {
        IpAddr::V6(Ipv6Addr::UNSPECIFIED)
    };
    let endpoint =
        Endpoint::client(SocketAddr::new(unspecified, 0)).map_err(|error| format!("no socket: {error}"))?;
    let config = config(arguments)?;
    let server = SocketAddr::new(arguments.address, arguments.port);
    report.borrow_mut().started_ns = Some(monotonic_ns());
    let refused = |error: &dyn std::error::Error| format!("no connection to {server}: {error}");
    let connection = endpoint
        .connect_with(config, server, &arguments.name)
        .map_err(|error| refused(&error))?
        .await
        .map_err(|error| refused(&error))?;
    report.borrow_mut().connected_ns = Some(monotonic_ns());
    let mut times_ns = Vec::new();
    for number in 0..arguments.count {
        if number > 0 && arguments.pause > 0.0 {
            tokio::time::sleep(Duration::from_secs_f64(arguments.pause)).await;
        }
        let asked = monotonic_ns();
        ask(arguments, &connection, report)
            .await
            .map_err(|error| format!("the connection broke: {error}"))?;
        times_ns.push(monotonic_ns() - asked);
    }
    {
        let mut report = report.borrow_mut();
        report.finished_ns = Some(monotonic_ns());
        if arguments.count > 1 {
            report.tell_response_times(times_ns);
        }
        report.tell_connection(&connection);
    }
    connection.close(VarInt::from_u32(0), b"");
    // long enough for the close to be sent, without the three PTOs of draining (RFC 9000, section 10.2)
    let _ = tokio::time::timeout(CLOSE, endpoint.wait_idle()).await;
    Ok(())
}

fn config(arguments: &ClientArguments) -> Result<ClientConfig, String> {
    let tls = tls(&arguments.certificate)?;
    let crypto = QuicClientConfig::try_from(tls).map_err(|error| error.to_string())?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(arguments.transport.config());
    Ok(config)
}

/// TLS 1.3 with one certificate that is trusted.
fn tls(certificate: &Path) -> Result<rustls::ClientConfig, String> {
    let wrong = |reason: &dyn std::error::Error| format!("{}: {reason}", certificate.display());
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(certificate).map_err(|error| wrong(&error))?;
    roots.add(certificate).map_err(|error| wrong(&error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring has TLS 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"quiclab".to_vec()];
    tls.key_log = Arc::new(KeyLogFile::new()); // to where SSLKEYLOGFILE says
    Ok(tls)
}

/// One request and its whole answer.
async fn ask(
    arguments: &ClientArguments,
    connection: &Connection,
    report: &RefCell<Report>,
) -> Result<(), Box<dyn std::error::Error>> {
    let (mut send, mut receive) = connection.open_bi().await?;
    let mut request = vec![0; arguments.request];
    let started = report.borrow().started_ns.expect("it has connected").to_be_bytes();
    if let Some(place) = request.get_mut(..started.len()) {
        place.copy_from_slice(&started);
    }
    send.write_all(&request).await?;
    send.finish()?;
    let mut next_sample = 0;
    while let Some(chunk) = receive.read_chunk(usize::MAX, true).await? {
        let now = monotonic_ns();
        let mut report = report.borrow_mut();
        report.first_byte_ns.get_or_insert(now);
        report.bytes += chunk.bytes.len() as u64;
        if next_sample <= now {
            let delivered = report.bytes as f64;
            report.sample(&[("delivered_bytes", delivered)]);
            next_sample = now + SAMPLE_NS;
        }
    }
    Ok(())
}
