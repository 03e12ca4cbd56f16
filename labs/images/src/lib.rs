//! Initramfs archives from host files. Bytes in, bytes out.
