//! Where a device is.

use super::link::{Link, LinkError};
use super::tcp::Tcp;
use super::udp::Udp;
use super::usb::{Port, Usb};
use std::fmt;

/// TCP and UDP port of fastboot where none is named.
const PORT: u16 = 5554;

/// Where a fastboot device is found. The place on the bus is the one name that a USB device keeps through a reset: serial numbers may be empty or
/// equal, and device numbers change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A USB port, `1-3.2`: bus and ports from the root.
    UsbPath(Port),
    /// A USB device by its serial number.
    UsbSerial(String),
    /// `host:port`.
    Tcp(String),
    /// `host:port`.
    Udp(String),
}

/// What is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{address:?} is no address of a fastboot device: use usb:1-3.2, tcp:HOST[:PORT] or udp:HOST[:PORT]")]
pub struct AddressError {
    /// As given.
    pub address: String,
}

impl Address {
    /// `usb:1-3.2`, `tcp:board.example`, `udp:127.0.0.1:15554`; everything else is a USB serial number, as with the usual client.
    pub fn parse(address: &str) -> Result<Self, AddressError> {
        let wrong = || AddressError { address: address.to_owned() };
        match address.split_once(':') {
            Some(("usb", path)) => Port::parse(path).map(Self::UsbPath).ok_or_else(wrong),
            Some(("tcp", host)) => with_port(host).map(Self::Tcp).ok_or_else(wrong),
            Some(("udp", host)) => with_port(host).map(Self::Udp).ok_or_else(wrong),
            None if !address.trim().is_empty() => Ok(Self::UsbSerial(address.to_owned())),
            _ => Err(wrong()),
        }
    }

    /// Opens a link to the device that is there now. Waits for nobody: [`LinkError::Absent`] where none is.
    pub async fn connect(&self) -> Result<Box<dyn Link>, LinkError> {
        Ok(match self {
            Self::UsbPath(port) => {
                Box::new(Usb::connect(&self.to_string(), |device| port.is_of(device)).await?)
            }
            Self::UsbSerial(serial) => Box::new(
                Usb::connect(&self.to_string(), |device| device.serial_number() == Some(serial)).await?,
            ),
            Self::Tcp(host) => Box::new(Tcp::connect(host).await?),
            Self::Udp(host) => Box::new(Udp::connect(host).await?),
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UsbPath(port) => write!(f, "usb:{port}"),
            Self::UsbSerial(serial) => f.write_str(serial),
            Self::Tcp(host) => write!(f, "tcp:{host}"),
            Self::Udp(host) => write!(f, "udp:{host}"),
        }
    }
}

/// `host:port` or `[v6]:port`, with fastboot's own port where none is named.
fn with_port(host: &str) -> Option<String> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let (name, after) = rest.split_once(']')?;
            (format!("[{name}]"), after.strip_prefix(':').or(after.is_empty().then_some(""))?)
        }
        None => {
            let (name, port) = host.split_once(':').unwrap_or((host, ""));
            (name.to_owned(), port)
        }
    };
    let usable = !name.is_empty() && !name.contains(char::is_whitespace);
    let port: u16 = if port.is_empty() { PORT } else { port.parse().ok()? };
    usable.then(|| format!("{name}:{port}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_back() {
        for text in [
            "usb:1-3.2",
            "usb:2-1",
            "tcp:board.example:5554",
            "udp:127.0.0.1:15554",
            "tcp:[::1]:5555",
            "0123456789ABCDEF",
        ] {
            assert_eq!(Address::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Address::parse("udp:board").unwrap(), Address::Udp("board:5554".into()));
        assert_eq!(Address::parse("tcp:[fe80::1]").unwrap(), Address::Tcp("[fe80::1]:5554".into()));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            " ",
            "usb:",
            "usb:3",
            "usb:1-",
            "usb:1-a",
            "usb:1-3..2",
            "tcp:",
            "udp:host:port",
            "udp:a b",
            "serial:1",
            "tcp:[::1",
        ] {
            let error = Address::parse(text).unwrap_err();
            assert_eq!(error.address, text);
        }
    }
}
