//! Service behind a load balancer.

use std::net::SocketAddr;
use std::process::Command;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::Full;
use tokio::time::sleep;

use super::balancer::{Balancer, Routing};
use crate::Outcome;
use crate::child::Server;
use crate::client::Connection;
use crate::processes::PROGRAM;
use crate::service::{Engine, OPERATOR, Service, free_address};

/// Time limit for processes to become ready.
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// Processes of one service, with the load balancer in front of them.
pub(crate) struct Topology {
    pub(crate) name: &'static str,
    pub(crate) service: Service,
    pub(crate) balancer: Balancer,
    processes: Vec<Server>,
}

impl Topology {
    /// Starts a service with one toolkit, and pins each of its processes to a core, as far as there are
    /// cores.
    pub(crate) async fn start(
        name: &'static str,
        engine: Engine,
        processes: usize,
        routing: Routing,
        component: &[u8],
    ) -> Outcome<Self> {
        let address = free_address()?;
        let service = Service::create(engine, address)?;
        let cores = available_parallelism()?.get();
        let mut servers = Vec::new();
        for number in 0..processes {
            let mut pinned = Command::new("taskset");
            pinned.args(["-c", &(number % cores).to_string(), PROGRAM]);
            // Without a model: embedding would take longer than everything else.
            servers.push(service.start_with(pinned, free_address()?, &["--model", "none"])?);
        }
        let addresses: Vec<_> = servers.iter().map(Server::address).collect();
        for process in &addresses {
            become_ready(*process, address).await.map_err(|error| format!("{name}: {error}"))?;
        }
        let balancer = Balancer::start(address, &addresses, routing)?;
        let topology = Self { name, service, balancer, processes: servers };
        topology.deploy(component).await?;
        Ok(topology)
    }

    /// Processor time of the processes so far.
    pub(crate) fn processor_time(&self) -> Outcome<Duration> {
        self.processes.iter().map(Server::processor_time).sum()
    }

    /// Memory of the processes, in KiB.
    pub(crate) fn memory(&self) -> Outcome<u32> {
        self.processes.iter().map(Server::memory).sum()
    }

    async fn deploy(&self, component: &[u8]) -> Outcome<()> {
        let request = Request::post("/toolkits")
            .header(header::HOST, self.balancer.address().to_string())
            .header(header::CONTENT_TYPE, "application/wasm")
            .header(header::AUTHORIZATION, format!("Bearer {}", self.service.token(OPERATOR)?))
            .body(Full::new(Bytes::copy_from_slice(component)))?;
        Connection::open(self.balancer.address()).await?.exchange(&request).await.map(drop)
    }
}

/// Waits until a process is ready, by requests with the host name `known_as`.
async fn become_ready(process: SocketAddr, known_as: SocketAddr) -> Outcome<()> {
    let started = Instant::now();
    let ready =
        Request::get("/readyz").header(header::HOST, known_as.to_string()).body(Full::new(Bytes::new()))?;
    while Connection::open(process).await?.ask(&ready).await?.0.status != StatusCode::OK {
        if started.elapsed() > START_TIMEOUT {
            return Err("a process does not become ready".into());
        }
        sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}
