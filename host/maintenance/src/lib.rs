//! Backup, transfer and examination of a service.
//!
//! # Modules
//!
//! - `backup`: copies a data directory while a server may be running, and restores it (docs/operating.md,
//!   docs/decisions/0030)
//! - `transfer`: copies a whole service to another database and another store of files
//!   (docs/operating.md, docs/decisions/0043)
//! - `doctor`: checks a data directory without changing it, and suggests remedies

pub mod backup;
pub mod doctor;
pub mod transfer;
