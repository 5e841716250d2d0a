//! One large user among many small ones, with search memory for a quarter of all their indexes.

use std::time::Duration;

use crate::Outcome;
use crate::service::Service;
use crate::speed::{Memory, clients, open, timed};
use crate::stats::percentile;

/// Searches of small users per search of the large user.
const SMALL_SEARCHES: usize = 4;

/// Prints the duration of searches by different users in turn, after every user has searched once.
pub(crate) async fn measure(
    service: &Service,
    model: &str,
    memory: u64,
    users: usize,
    queries: &[String],
) -> Outcome<()> {
    let memory = memory.to_string();
    let server = service.start(&["--model", model, "--search-memory", &memory])?;
    let mut large = open(service, &server, "large").await?;
    let mut small = clients(service, &server, users).await?;
    let (mut first_of_small, mut of_small, mut of_large) = (Vec::new(), Vec::new(), Vec::new());
    timed(&mut large, "warm up").await?;
    for client in &mut small {
        first_of_small.push(timed(client, "warm up").await?);
    }
    for (number, query) in queries.iter().enumerate() {
        of_large.push(timed(&mut large, query).await?);
        for search in 0..SMALL_SEARCHES.min(users) {
            let client = &mut small[(number * SMALL_SEARCHES + search) % users];
            of_small.push(timed(client, query).await?);
        }
    }
    let at = |times: &mut Vec<Duration>, share| percentile(times, share).unwrap_or_default();
    println!("  with memory for a quarter of all, large and small users in turn");
    println!("    large user  p50 {:.1?}, p99 {:.1?}", at(&mut of_large, 0.5), at(&mut of_large, 0.99));
    println!(
        "    small user  p50 {:.1?}, p99 {:.1?}; first search p50 {:.1?}",
        at(&mut of_small, 0.5),
        at(&mut of_small, 0.99),
        at(&mut first_of_small, 0.5)
    );
    println!("    memory      {}", Memory::of(&server)?);
    Ok(())
}
