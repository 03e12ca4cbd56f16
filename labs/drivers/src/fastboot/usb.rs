//! fastboot over USB: one bulk endpoint for each direction of the interface ff/42/03.

use super::link::{LONGEST_REPLY, Link, LinkError};
use async_trait::async_trait;
use nusb::descriptors::TransferType;
use nusb::transfer::{Buffer, Bulk, Direction, In, Out};
use nusb::{DeviceInfo, Endpoint, Interface};
use std::fmt;

/// Class, subclass and protocol of the interface.
const FASTBOOT: (u8, u8, u8) = (0xff, 0x42, 0x03);

/// Bytes of one transfer to the device.
const TRANSFER: usize = 256 * 1024;

/// A place on a bus, `1-3.2`: the bus, and the port on each hub from the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    bus: u16,
    chain: Vec<u8>,
}

impl Port {
    /// As the kernel writes it in `/sys/bus/usb/devices`.
    pub(super) fn parse(path: &str) -> Option<Self> {
        let number =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?;
        let (bus, chain) = path.split_once('-')?;
        let bus = bus.parse().ok()?;
        let chain: Option<Vec<u8>> = chain.split('.').map(number).collect();
        Some(Self { bus, chain: chain? })
    }

    /// Whether a device is plugged in here.
    pub(super) fn is_of(&self, device: &DeviceInfo) -> bool {
        u16::from(device.busnum()) == self.bus && device.port_chain() == self.chain
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chain: Vec<String> = self.chain.iter().map(u8::to_string).collect();
        write!(f, "{}-{}", self.bus, chain.join("."))
    }
}

/// A claimed interface.
pub(super) struct Usb {
    /// Held as long as its endpoints are used.
    _interface: Interface,
    to_device: Endpoint<Bulk, Out>,
    from_device: Endpoint<Bulk, In>,
    address: String,
}

impl Usb {
    /// Claims the fastboot interface of the one device that is meant.
    pub(super) async fn connect(
        address: &str,
        is_meant: impl Fn(&DeviceInfo) -> bool,
    ) -> Result<Self, LinkError> {
        let absent = |reason: String| LinkError::Absent { address: address.to_owned(), reason };
        let all = nusb::list_devices()
            .await
            .map_err(|error| absent(format!("cannot list USB devices: {error}")))?;
        let meant: Vec<DeviceInfo> = all.filter(|device| is_meant(device)).collect();
        let device = match meant.as_slice() {
            [] => return Err(absent("nothing is plugged in there".to_owned())),
            [device] => device,
            several => {
                return Err(LinkError::Ambiguous { address: address.to_owned(), count: several.len() });
            }
        };
        let number = fastboot_interface(device)
            .ok_or_else(|| absent(format!("{} has no fastboot interface", shown(device))))?;
        let opened = device.open().await.map_err(|error| absent(refused(device, &error)))?;
        let interface =
            opened.claim_interface(number).await.map_err(|error| absent(refused(device, &error)))?;
        let (input, output) = bulk_endpoints(&interface).ok_or_else(|| {
            let detail = "its interface lacks a bulk endpoint for each direction".to_owned();
            LinkError::Protocol { address: address.to_owned(), detail }
        })?;
        let to_device = interface.endpoint(output).map_err(|error| absent(refused(device, &error)))?;
        let from_device = interface.endpoint(input).map_err(|error| absent(refused(device, &error)))?;
        Ok(Self { _interface: interface, to_device, from_device, address: address.to_owned() })
    }

    fn lost(&self, error: &dyn fmt::Display) -> LinkError {
        LinkError::Lost { address: self.address.clone(), reason: error.to_string() }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), LinkError> {
        for part in bytes.chunks(TRANSFER) {
            self.to_device.submit(Buffer::from(part.to_vec()));
            let done = self.to_device.next_complete().await;
            done.status.map_err(|error| self.lost(&error))?;
            if done.actual_len != part.len() {
                return Err(self.lost(&format!("{} of {} bytes were taken", done.actual_len, part.len())));
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Link for Usb {
    async fn send(&mut self, command: &[u8]) -> Result<(), LinkError> {
        self.write(command).await
    }

    async fn send_data(&mut self, piece: &[u8]) -> Result<(), LinkError> {
        self.write(piece).await
    }

    async fn receive(&mut self) -> Result<Vec<u8>, LinkError> {
        // A read has to be a multiple of the packet size; packets of no length mean nothing.
        let packet = self.from_device.max_packet_size().max(1);
        loop {
            self.from_device.submit(Buffer::new(LONGEST_REPLY.next_multiple_of(packet)));
            let done = self.from_device.next_complete().await;
            done.status.map_err(|error| self.lost(&error))?;
            if done.actual_len > 0 {
                return Ok(done.buffer[..done.actual_len].to_vec());
            }
        }
    }
}

fn fastboot_interface(device: &DeviceInfo) -> Option<u8> {
    let is_fastboot = |interface: &&nusb::InterfaceInfo| {
        (interface.class(), interface.subclass(), interface.protocol()) == FASTBOOT
    };
    device.interfaces().find(is_fastboot).map(nusb::InterfaceInfo::interface_number)
}

/// Addresses of the endpoints from and to the device.
fn bulk_endpoints(interface: &Interface) -> Option<(u8, u8)> {
    let descriptor = interface.descriptor()?;
    let bulk = |direction| {
        let mut endpoints = descriptor.endpoints();
        let found = endpoints.find(|endpoint| {
            endpoint.transfer_type() == TransferType::Bulk && endpoint.direction() == direction
        })?;
        Some(found.address())
    };
    Some((bulk(Direction::In)?, bulk(Direction::Out)?))
}

fn shown(device: &DeviceInfo) -> String {
    let name = device.product_string().unwrap_or("a device");
    format!("{name} ({:04x}:{:04x})", device.vendor_id(), device.product_id())
}

fn refused(device: &DeviceInfo, error: &nusb::Error) -> String {
    let remedy = if error.kind() == nusb::ErrorKind::PermissionDenied {
        format!(
            "; a udev rule lets users in: SUBSYSTEM==\"usb\", ATTR{{idVendor}}==\"{:04x}\", MODE=\"0660\", GROUP=\"plugdev\"",
            device.vendor_id()
        )
    } else {
        String::new()
    };
    format!("{} cannot be opened: {error}{remedy}", shown(device))
}
