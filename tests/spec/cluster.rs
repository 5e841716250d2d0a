//! Several processes of the real program over one PostgreSQL database. Some are killed, stopped, or cut off. Without
//! `TEST_DATABASE` there is nothing to test.

mod changes;
mod files;
mod jobs;
mod joining;
mod link;
mod members;

use link::Link;
use members::{Cluster, Member};
