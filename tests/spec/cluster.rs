//! Several processes of the real program that share a PostgreSQL database. Some are killed, suspended, or cut
//! off from it. Their files are in a bucket if `TEST_S3` is the URL of an S3 server.

mod asking;
mod audience;
mod changes;
mod collections;
mod ended_access;
mod examination;
mod failover;
mod files;
mod jobs;
mod joining;
mod link;
mod members;
mod once;
mod users;

use link::Link;
use members::{Cluster, Files, Member, OPERATOR, bucket_server};
