#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kitbag_fuzz::picture(data));
