//! Offloads of a device: switched off and verified, so that each packet is one on the wire (ethtool(8),
//! linux/ethtool.h).

use rustix::ioctl::{Updater, ioctl};
use rustix::net::{AddressFamily, SocketType, socket};
use std::io;

/// Ioctl for all of ethtool (linux/sockios.h).
const SIOCETHTOOL: u32 = 0x8946;
/// Offloads that merge or split packets: name, command to get, command to set.
const OFFLOADS: [(&str, u32, u32); 3] =
    [("TCP segmentation", 0x1e, 0x1f), ("segmentation", 0x23, 0x24), ("receive", 0x2b, 0x2c)];

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// `struct ifreq` as ethtool uses it.
#[repr(C)]
struct Request {
    name: [u8; 16],
    value: *mut Value,
    unused: [u8; 16],
}

/// Switches off the offloads of a device in the calling thread's namespace.
///
/// # Errors
/// If the kernel refuses, or one is still on.
pub fn offloads_off(device: &str) -> io::Result<()> {
    for (name, ask, set) in OFFLOADS {
        call(device, set, 0)?;
        if call(device, ask, 0)? != 0 {
            return Err(io::Error::other(format!(
                "{name} offload of `{device}` is still on after it was switched off"
            )));
        }
    }
    Ok(())
}

fn call(device: &str, command: u32, data: u32) -> io::Result<u32> {
    let mut value = Value { command, data };
    let mut request = Request { name: [0; 16], value: &raw mut value, unused: [0; 16] };
    let name = device.as_bytes();
    if name.len() >= request.name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a name of a device has at most 15 bytes"));
    }
    request.name[..name.len()].copy_from_slice(name);
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: `Request` is laid out as `struct ifreq`, and `value` outlives the call.
    #[expect(unsafe_code, reason = "ethtool has no other interface that is so small")]
    unsafe { ioctl(&socket, Updater::<SIOCETHTOOL, Request>::new(&mut request)) }
        .map_err(|error| io::Error::other(format!("offloads of `{device}`: {error}")))?;
    Ok(value.data)
}
