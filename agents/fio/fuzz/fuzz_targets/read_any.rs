#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kab_fio_fuzz::read_any(bytes));
