//! Rules, in the terms of `nft`.

use super::message::{attribute, nested, number, text};
use super::set::Set;

/// Register that expressions of one rule share, and that of the verdict.
const REGISTER: u32 = 1;
const VERDICT_REGISTER: u32 = 0;
/// Length of a device's name in a comparison (IFNAMSIZ).
const NAME_BYTES: usize = 16;

/// Verdict about a packet.
#[derive(Clone, Copy)]
pub enum Verdict {
    /// The packet is dropped.
    Drop = 0,
    /// The packet passes this chain.
    Accept = 1,
}

/// A rule: comparisons, and the verdict if all are true.
#[derive(Clone, Default)]
pub struct Rule(pub(super) Vec<u8>);

impl Rule {
    /// A rule without comparisons.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn expression(mut self, name: &str, fill: impl FnOnce(&mut Vec<u8>)) -> Self {
        nested(&mut self.0, 1, |out| {
            text(out, 1, name);
            nested(out, 2, fill);
        });
        self
    }

    fn meta(self, key: u32) -> Self {
        self.expression("meta", |out| {
            number(out, 1, REGISTER);
            number(out, 2, key);
        })
    }

    /// Bytes of the packet: `base` 1 is the header of IP, 2 that of UDP.
    fn payload(self, base: u32, offset: u32, length: usize) -> Self {
        self.expression("payload", |out| {
            number(out, 1, REGISTER);
            number(out, 2, base);
            number(out, 3, offset);
            number(out, 4, length as u32);
        })
    }

    fn compare(self, equal: bool, value: &[u8]) -> Self {
        self.expression("cmp", |out| {
            number(out, 1, REGISTER);
            number(out, 2, u32::from(!equal));
            nested(out, 3, |out| attribute(out, 1, value));
        })
    }

    fn device(self, key: u32, name: &str, equal: bool) -> Self {
        self.meta(key).compare(equal, &padded(name))
    }

    /// `iifname`.
    #[must_use]
    pub fn iifname(self, name: &str) -> Self {
        self.device(6, name, true)
    }

    /// `oifname`.
    #[must_use]
    pub fn oifname(self, name: &str) -> Self {
        self.device(7, name, true)
    }

    /// `oifname !=`.
    #[must_use]
    pub fn oifname_not(self, name: &str) -> Self {
        self.device(7, name, false)
    }

    /// `fib saddr oifname` (`source`) or `fib daddr oifname`: the kernel routes packets to this address of the packet through the
    /// device, and it is not an address of the machine.
    #[must_use]
    pub fn routed_through(self, source: bool, name: &str) -> Self {
        // NFT_FIB_RESULT_OIFNAME, NFTA_FIB_F_SADDR, NFTA_FIB_F_DADDR
        const OUTPUT_NAME: u32 = 2;
        const SOURCE: u32 = 1;
        const DESTINATION: u32 = 2;
        let read = self.expression("fib", |out| {
            number(out, 1, REGISTER);
            number(out, 2, OUTPUT_NAME);
            number(out, 3, if source { SOURCE } else { DESTINATION });
        });
        read.compare(true, &padded(name))
    }

    /// `ip saddr @SET` or `ip6 saddr @SET` (`source`), or the same of `daddr`.
    #[must_use]
    pub fn address_in(self, source: bool, set: &Set) -> Self {
        let (first, length) = if set.is_ipv4() { (12, 4) } else { (8, 16) };
        let offset = if source { first } else { first + length as u32 };
        self.family(set.is_ipv4()).payload(1, offset, length).expression("lookup", |out| {
            text(out, 1, set.name());
            number(out, 2, REGISTER);
        })
    }

    /// `meta mark`.
    #[must_use]
    pub fn mark(self, mark: u32) -> Self {
        self.meta(3).compare(true, &mark.to_ne_bytes())
    }

    /// `meta nfproto`.
    #[must_use]
    pub fn family(self, ipv4: bool) -> Self {
        self.meta(15).compare(true, &[if ipv4 { 2 } else { 10 }])
    }

    /// `ct state established,related`: the packet belongs to a flow that was accepted before (NF_CT_STATE_BIT).
    #[must_use]
    pub fn of_known_flow(self) -> Self {
        const STATE: u32 = 0;
        let known = (1_u32 << 1 | 1 << 2).to_ne_bytes();
        let read = self.expression("ct", |out| {
            number(out, 1, REGISTER);
            number(out, 2, STATE);
        });
        read.masked(&known).compare(false, &[0; 4])
    }

    /// Masks the register with these bits.
    fn masked(self, mask: &[u8]) -> Self {
        self.expression("bitwise", |out| {
            number(out, 1, REGISTER);
            number(out, 2, REGISTER);
            number(out, 3, mask.len() as u32);
            nested(out, 4, |out| attribute(out, 1, mask));
            nested(out, 5, |out| attribute(out, 1, &vec![0; mask.len()]));
        })
    }

    /// `meta l4proto`.
    #[must_use]
    pub fn protocol(self, protocol: u8) -> Self {
        self.meta(16).compare(true, &[protocol])
    }

    /// Bytes of the header of UDP, or another one after that of IP.
    #[must_use]
    pub fn transport(self, offset: u32, value: &[u8]) -> Self {
        self.payload(2, offset, value.len()).compare(true, value)
    }

    /// The first `length` bits of the address at `offset` of the header of IP.
    #[must_use]
    pub fn prefix(self, offset: u32, octets: &[u8], length: u8) -> Self {
        let mask: Vec<u8> = (0..octets.len())
            .map(|at| {
                let bits = usize::from(length).saturating_sub(8 * at).min(8);
                !(0xff_u16 >> bits) as u8
            })
            .collect();
        let read = self.payload(1, offset, octets.len());
        if usize::from(length) == 8 * octets.len() {
            return read.compare(true, octets);
        }
        read.masked(&mask).compare(true, octets)
    }

    /// Adds the verdict.
    #[must_use]
    pub fn verdict(self, verdict: Verdict) -> Self {
        self.expression("immediate", |out| {
            number(out, 1, VERDICT_REGISTER);
            nested(out, 2, |out| nested(out, 2, |out| number(out, 1, verdict as u32)));
        })
    }

    /// `masquerade`.
    #[must_use]
    pub fn masquerade(self) -> Self {
        self.expression("masq", |_| ())
    }
}

/// Name of a device, padded for the comparison.
fn padded(name: &str) -> Vec<u8> {
    let mut value = name.as_bytes().to_vec();
    value.resize(NAME_BYTES, 0);
    value
}
