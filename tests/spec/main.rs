//! The specification as tests over a running server.
//!
//! Each file is a topic, each test's name a sentence. `harness` starts servers and speaks for
//! clients; toolkits come from `tests/guests`, built by `just build-guests`.

mod harness;

mod architecture;
mod arguments;
mod attacks;
mod audio;
mod canary;
mod capture;
mod cli;
mod clients;
mod concurrency;
mod config;
mod conformance;
mod content;
mod crash;
mod elicitation;
mod extractors;
mod fetch;
mod grants;
mod graphql;
mod graphql_limits;
mod hostile;
mod hostile_files;
mod hostile_network;
mod knowledge;
mod knowledge_cli;
mod knowledge_crash;
mod knowledge_files;
mod knowledge_isolation;
mod knowledge_toolkits;
mod life_cycle;
mod list_changed;
mod listing;
mod local_issuer;
mod login;
mod logs;
mod mcp_edges;
mod odd_components;
mod outbound_auth;
mod paging;
mod progress;
mod redirects;
mod restart;
mod scaffold;
mod secrets;
mod shared_functions;
mod sign_in;
mod soak_trend;
mod toolkit_dev;
mod uploads;
mod visibility;
