//! Web pages and the protocols that transfer them.
//!
//! ```text
//! page       resources of a page, and their dependencies
//! browser, server   requests and responses, in any protocol
//! on_streams both ends on the streams of QUIC, in either mapping:
//! h3         HTTP/3 (RFC 9114)
//! gquic      HTTP on Google QUIC: headers on one stream, bodies on separate ones
//! h2         HTTP/2 on a byte stream (RFC 9113)
//! origins    connections to several servers as one endpoint
//! ```
//!
//! Bodies and header sections are lengths. The section of a request identifies its resource: a value beside
//! the length, which is sent with it. Both ends know the page.
//!
//! Public items are those that a stack of another crate needs to load pages on its streams
//! ([`crate::workload::Streams`]).

mod browser;
mod gquic;
mod h2;
mod h3;
mod on_streams;
mod origins;
mod page;
mod server;

pub(crate) use browser::PAGE;
pub(crate) use h2::{build as build_http2, rows as http2_rows};
pub(crate) use origins::ORIGINS;
pub use origins::build as build_origins;
#[cfg(test)]
pub(crate) use page::testing;

use crate::error::Error;
use crate::options::{QuicVersion, Workload};
use crate::workload::StreamApplication;
use browser::{Browser, PageLoad};
use on_streams::{Client, Server};
use page::Page;
use quiclab_core::{RandomStream, Role};
use server::WebServer;
use std::sync::{Arc, Mutex};

/// Common parts of the ends of all connections of a page at one side.
pub struct PageEnds {
    page: Arc<Page>,
    visit: Arc<Mutex<PageLoad>>,
}

impl PageEnds {
    /// Makes the parts; `random` is that of the page.
    ///
    /// # Errors
    /// If `workload` is not a page, or one of its values is not allowed.
    pub fn new(workload: &Workload, random: RandomStream) -> Result<Self, Error> {
        let page = Arc::new(Page::new(workload)?);
        let times = page::browser_times(workload, random);
        let visit = Arc::new(Mutex::new(PageLoad::new(Arc::clone(&page), times)));
        Ok(Self { page, visit })
    }

    fn browser(&self, origin: usize) -> Browser {
        Browser::of(&self.visit, origin)
    }

    fn server(&self, origin: usize) -> WebServer {
        WebServer::of(Arc::clone(&self.page), origin)
    }

    /// Builds one side of the page on the streams of QUIC, for the connection to one of its servers.
    #[must_use]
    pub fn on_streams(&self, role: Role, origin: usize, version: QuicVersion) -> Box<dyn StreamApplication> {
        match (version, role) {
            (QuicVersion::V1, Role::Client) => Box::new(Client::<h3::Client>::new(self.browser(origin))),
            (QuicVersion::V1, Role::Server) => {
                let server = self.server(origin);
                let mapping = h3::Server::new(&server);
                Box::new(Server::new(server, mapping))
            }
            (QuicVersion::Gquic37, Role::Client) => {
                Box::new(Client::<gquic::Client>::new(self.browser(origin)))
            }
            (QuicVersion::Gquic37, Role::Server) => {
                Box::new(Server::new(self.server(origin), gquic::Server::default()))
            }
        }
    }
}

/// Builds one side of a page on the streams of QUIC; `random` is that of the page.
///
/// # Errors
/// If a value of the page is not allowed.
pub fn build_streams(
    role: Role,
    workload: &Workload,
    version: QuicVersion,
    random: RandomStream,
) -> Result<Box<dyn StreamApplication>, Error> {
    Ok(PageEnds::new(workload, random)?.on_streams(role, 0, version))
}
