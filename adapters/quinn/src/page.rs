//! Loads a page over HTTP/3 (RFC 9114): the first path, then all others at once; prints what it found.
//!
//! The least that a server has to accept: a control stream with empty SETTINGS (section 6.2.1, 7.2.4), hence
//! no dynamic table (RFC 9204 section 5), and GET requests whose fields are in the static table or literal.
//! No HTTP/3 library is needed for that. Of an answer it is looked at `:status`, which servers take from the
//! static table, and how long the body is.

use crate::client::tls;
use crate::report::monotonic_ns;
use clap::Args;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint, RecvStream, VarInt};
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Frame types (RFC 9114 section 7.2).
const DATA: u64 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
/// Type of a control stream (section 6.2.1).
const CONTROL_STREAM: u8 = 0;
/// Fields of QPACK's static table (RFC 9204 appendix A) as indexed field lines (section 4.5.2).
const METHOD_GET: u8 = 0xc0 | 17;
const SCHEME_HTTPS: u8 = 0xc0 | 23;
const STATUS_200: u8 = 0xc0 | 25;
/// Names of it for literal field lines (section 4.5.4), with a value that is not compressed.
const AUTHORITY: u8 = 0x50;
const PATH: u8 = 0x51;
/// Largest value of a prefix of seven bits (RFC 7541 section 5.1): names and paths are shorter.
const LONGEST: usize = 126;
/// `H3_NO_ERROR` (RFC 9114 section 8.1).
const NO_ERROR: u32 = 0x100;

/// Arguments of the loader.
#[derive(Args, Clone, Debug)]
pub struct PageArguments {
    #[arg(long)]
    address: IpAddr,
    #[arg(long, default_value_t = 443)]
    port: u16,
    /// The only certificate that is trusted (PEM).
    #[arg(long)]
    certificate: PathBuf,
    /// Name in it.
    #[arg(long)]
    name: String,
    /// The page, then what it names.
    #[arg(required = true)]
    paths: Vec<String>,
}

/// Loads the page and prints times and lengths as a line of JSON.
pub async fn load(arguments: &PageArguments) -> Result<(), String> {
    fetch(arguments).await.map_err(|error| error.to_string())
}

async fn fetch(arguments: &PageArguments) -> Result<(), Error> {
    let unspecified = if arguments.address.is_ipv4() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED)
    } else {
        IpAddr::V6(Ipv6Addr::UNSPECIFIED)
    };
    let endpoint = Endpoint::client(SocketAddr::new(unspecified, 0))?;
    let crypto = QuicClientConfig::try_from(tls(&arguments.certificate, b"h3")?)?;
    let server = SocketAddr::new(arguments.address, arguments.port);
    let requests: Vec<_> =
        arguments.paths.iter().map(|path| request(&arguments.name, path)).collect::<Result<_, _>>()?;
    let started_ns = monotonic_ns();
    let config = ClientConfig::new(Arc::new(crypto));
    let connection = endpoint.connect_with(config, server, &arguments.name)?.await?;
    let connected_ns = monotonic_ns();
    let mut control = connection.open_uni().await?;
    control.write_all(&[CONTROL_STREAM, SETTINGS, 0]).await?;
    let mut requests = requests.into_iter();
    let page = get(connection.clone(), requests.next().expect("one path at least is required")).await?;
    let html_ns = monotonic_ns();
    let tasks: Vec<_> = requests.map(|request| tokio::spawn(get(connection.clone(), request))).collect();
    let mut sizes = vec![page.size];
    for task in tasks {
        sizes.push(task.await??.size);
    }
    let finished_ns = monotonic_ns();
    println!(
        "{}",
        json!({
            "started_ns": started_ns, "connected_ns": connected_ns, "first_byte_ns": page.first_byte_ns,
            "html_ns": html_ns, "finished_ns": finished_ns, "sizes": sizes,
        })
    );
    connection.close(VarInt::from_u32(NO_ERROR), b"");
    let _ = tokio::time::timeout(crate::client::CLOSE, endpoint.wait_idle()).await;
    Ok(())
}

/// HEADERS frame with a GET request.
fn request(name: &str, path: &str) -> Result<Vec<u8>, Error> {
    let mut fields = vec![0, 0, METHOD_GET, SCHEME_HTTPS];
    for (field, value) in [(AUTHORITY, name), (PATH, path)] {
        let length = u8::try_from(value.len()).ok().filter(|&length| usize::from(length) <= LONGEST);
        fields.extend([field, length.ok_or_else(|| format!("`{value}` is longer than {LONGEST} bytes"))?]);
        fields.extend(value.as_bytes());
    }
    // a length of two bytes (RFC 9000 section 16): 8 and twice 126 fit into 14 bits
    let length = u16::try_from(fields.len()).expect("names and paths are short") | 0x4000;
    let mut frame = vec![HEADERS];
    frame.extend(length.to_be_bytes());
    frame.extend(fields);
    Ok(frame)
}

/// What came.
#[derive(Clone, Copy, Debug)]
struct Answer {
    size: u64,
    first_byte_ns: u64,
}

async fn get(connection: Connection, request: Vec<u8>) -> Result<Answer, Error> {
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(&request).await?;
    send.finish()?;
    let (mut size, mut first_byte_ns, mut has_status) = (0, 0, false);
    while let Some(kind) = variable(&mut receive).await? {
        if first_byte_ns == 0 {
            first_byte_ns = monotonic_ns();
        }
        let length = variable(&mut receive).await?.ok_or("a frame without a length")?;
        if kind == DATA {
            skip(&mut receive, length).await?;
            size += length;
        } else {
            let mut content = vec![0; usize::try_from(length)?];
            receive.read_exact(&mut content).await?;
            if kind == u64::from(HEADERS) && !has_status {
                // Required Insert Count and base are 0 without a dynamic table; `:status` is the first field
                if content.get(..3) != Some(&[0, 0, STATUS_200]) {
                    return Err(format!("the answer is not 200: {content:02x?}").into());
                }
                has_status = true;
            }
        }
    }
    if has_status { Ok(Answer { size, first_byte_ns }) } else { Err("an answer without a status".into()) }
}

/// A variable-length integer (RFC 9000 section 16); `None` at the end of the stream.
async fn variable(receive: &mut RecvStream) -> Result<Option<u64>, Error> {
    let mut first = [0];
    if receive.read(&mut first).await?.is_none() {
        return Ok(None);
    }
    let mut rest = [0; 7];
    let rest = &mut rest[..(1 << (first[0] >> 6)) - 1];
    receive.read_exact(rest).await?;
    Ok(Some(rest.iter().fold(u64::from(first[0] & 0x3f), |value, &byte| value << 8 | u64::from(byte))))
}

/// Reads a body over.
async fn skip(receive: &mut RecvStream, mut length: u64) -> Result<(), Error> {
    while length > 0 {
        let most = usize::try_from(length)?;
        let chunk = receive.read_chunk(most, true).await?.ok_or("a body that is cut off")?;
        length -= chunk.bytes.len() as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::request;

    #[test]
    fn a_request_is_the_one_of_the_rfc() {
        // RFC 9204: prefix 00 00; GET is entry 17 and https entry 23 (11xxxxxx); :authority is name 0, :path name 1
        // (0101xxxx), each with a length. RFC 9114 7.2.2: frame type 01; RFC 9000 16: 13 bytes in two are 40 0d
        let expected = b"\x01\x40\x0d\x00\x00\xd1\xd7\x50\x03a.b\x51\x02/x";
        assert_eq!(request("a.b", "/x").unwrap(), expected);
        assert!(request("a.b", &"x".repeat(127)).is_err(), "a prefix of seven bits ends at 126");
    }
}
