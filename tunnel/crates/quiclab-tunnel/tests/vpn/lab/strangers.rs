//! Other implementations of CONNECT-IP, and certificates, which openssl creates from keys of ends.

use super::{Lab, succeed};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

impl Lab {
    /// Creates a self-signed certificate of an end's key.
    pub fn certify(&self, end: &str) {
        let (key, certificate) = (self.file(&format!("{end}.key")), self.file(&format!("{end}.pem")));
        let subject = format!("/CN={end}.example");
        let sign =
            ["req", "-x509", "-new", "-days", "2", "-key", &key, "-out", &certificate, "-subj", &subject];
        succeed("openssl", &sign);
    }

    /// Creates an authority with the certificate `ca.pem`, and a host with the ECDSA key `web.key`, which the authority has
    /// signed in `web.pem`.
    pub fn certify_by_authority(&self, host: &str) {
        let name = |name: &str| self.file(name);
        let [ca_key, ca, key, request, certificate, extensions] =
            ["ca.key", "ca.pem", "web.key", "web.csr", "web.pem", "web.ext"].map(name);
        let curve = ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out"];
        for file in [&ca_key, &key] {
            succeed("openssl", &[&curve[..], &[file]].concat());
        }
        succeed(
            "openssl",
            &["req", "-x509", "-new", "-key", &ca_key, "-subj", "/CN=ca", "-days", "2", "-out", &ca],
        );
        succeed("openssl", &["req", "-new", "-key", &key, "-subj", "/CN=web", "-out", &request]);
        let text = format!("subjectAltName=DNS:{host}\nbasicConstraints=CA:FALSE\n");
        std::fs::write(&extensions, text).unwrap();
        let signed = ["x509", "-req", "-in", &request, "-CA", &ca, "-CAkey", &ca_key, "-CAcreateserial"];
        let as_server = ["-days", "2", "-extfile", &extensions, "-out", &certificate];
        succeed("openssl", &[&signed[..], &as_server].concat());
    }

    /// Starts another program in the network of a host; returns the file with its output.
    pub fn start_program(&mut self, host: char, words: &[String]) -> PathBuf {
        let file = self.directory.join(format!("program{}.log", self.children.len()));
        let log = File::create(&file).unwrap();
        let child = Command::new("ip")
            .args(["netns", "exec", &self.host(host)])
            .args(words)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.children.push((host, child));
        file
    }

    /// Output of a program so far.
    pub fn said(&self, file: &Path) -> String {
        std::fs::read_to_string(file).unwrap_or_default()
    }
}
