//! A web page and the protocols that carry it.
//!
//! ```text
//! page       browser and web server: what is asked for and answered, in any protocol
//! h3         HTTP/3 on the streams of QUIC (RFC 9114)
//! gquic      HTTP on Google QUIC: headers on one stream, bodies on their own
//! h2         HTTP/2 on a byte stream (RFC 9113): h2_client, h2_server, h2_frames what both share
//! ```
//!
//! Bodies and header sections are lengths. Which object a request asks for follows from its number: the
//! client asks in the order of the page, and both ends know the page.

mod gquic;
mod h2;
mod h2_client;
mod h2_frames;
mod h2_server;
mod h3;
mod page;

pub(crate) use h2::{build as build_http2, check as check_http2};
#[cfg(test)]
pub(crate) use page::testing;

use crate::error::Error;
use crate::workload::StreamApplication;
use page::{Browser, Page, WebServer};
use quiclab_core::{RandomStream, Role};
use quiclab_core::scenario::{QuicVersion, Workload};

/// One side of a page on the streams of QUIC; `random` is the page's own.
///
/// # Errors
/// If a value of the page is not allowed.
pub(crate) fn build_streams(
    role: Role,
    workload: &Workload,
    version: QuicVersion,
    random: RandomStream,
) -> Result<Box<dyn StreamApplication>, Error> {
    let page = Page::new(workload)?;
    let browser = |page| Browser::new(page, page::own_time(workload, random));
    Ok(match (version, role) {
        (QuicVersion::V1, Role::Client) => Box::new(h3::Client::new(browser(page))),
        (QuicVersion::V1, Role::Server) => Box::new(h3::Server::new(WebServer::new(page))),
        (QuicVersion::Gquic37, Role::Client) => Box::new(gquic::Client::new(browser(page))),
        (QuicVersion::Gquic37, Role::Server) => Box::new(gquic::Server::new(WebServer::new(page))),
    })
}
