//! State of the machine: how much other processes computed while something was measured.

use std::fmt;
use std::fs;
use std::thread::available_parallelism;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::Outcome;
use crate::child::processor_time_of;

/// Number of processors that other processes may use on average while something is measured.
const MAX_OTHERS: f64 = 0.1;

/// The machine before anything was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    processors: usize,
    /// Average number of running processes over the last minute.
    load: f64,
}

impl Machine {
    pub(crate) fn now() -> Outcome<Self> {
        let average = fs::read_to_string("/proc/loadavg")?;
        let load = average.split(' ').next().ok_or("/proc/loadavg has three averages")?.parse()?;
        Ok(Self { processors: available_parallelism()?.get(), load })
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { processors, load } = self;
        writeln!(f, "The machine: {processors} processors, load before it began {load}")
    }
}

/// A result, and what other processes, or other virtual machines of the host, computed meanwhile.
#[derive(Debug)]
pub(crate) struct Measured<T> {
    title: &'static str,
    result: T,
    /// Average number of processors that they used.
    others: f64,
}

impl<T> Measured<T> {
    /// Measures something, which has this title in the report.
    pub(crate) async fn of(
        title: &'static str,
        measuring: impl Future<Output = Outcome<T>>,
    ) -> Outcome<Self> {
        let before = Ticks::now()?;
        let result = measuring.await?;
        Ok(Self { title, result, others: Ticks::now()?.of_others_since(&before) })
    }

    /// Returns the result; `None` if other processes were busy.
    pub(crate) fn at_rest(&self) -> Option<&T> {
        (self.others <= MAX_OTHERS).then_some(&self.result)
    }
}

/// Displays the result, or that other processes were busy.
impl<T: fmt::Display> fmt::Display for Measured<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, others, .. } = self;
        match self.at_rest() {
            Some(result) => writeln!(f, "\n{title}; other processes used {others:.2} processors\n{result}"),
            None => writeln!(
                f,
                "\n{title}: not shown, since other processes, or other virtual machines of the host, used {others:.1} \
                 processors meanwhile. Measure again when they are done."
            ),
        }
    }
}

/// Serializes the result with `others`; the result is `null` if other processes were busy.
impl<T: Serialize> Serialize for Measured<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Measured", 2)?;
        fields.serialize_field("others", &self.others)?;
        fields.serialize_field("result", &self.at_rest())?;
        fields.end()
    }
}

/// Processor time since the system started, in ticks.
struct Ticks {
    /// All processors, idle time included.
    all: u64,
    processors: usize,
    /// Time of all processes, and time that the hypervisor gave to other machines.
    busy: u64,
    /// Time of this process and its descendants.
    own: u64,
}

impl Ticks {
    fn now() -> Outcome<Self> {
        let stat = fs::read_to_string("/proc/stat")?;
        let fields: Vec<u64> = stat
            .lines()
            .next()
            .ok_or("/proc/stat has a line for all processors")?
            .split_whitespace()
            .skip(1)
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        // proc_pid_stat(5): guest time, after these, is part of user time.
        let [user, nice, system, _idle, _io, _interrupts, _soft_interrupts, stolen] =
            *fields.first_chunk().ok_or("/proc/stat has eight times")?;
        let busy = user + nice + system + stolen;
        let processors = available_parallelism()?.get();
        Ok(Self { all: fields[..8].iter().sum(), processors, busy, own: own_ticks()? })
    }

    /// Average number of processors that others used since `before`.
    fn of_others_since(&self, before: &Self) -> f64 {
        let others = (self.busy - before.busy).saturating_sub(self.own - before.own);
        let elapsed = (self.all - before.all).max(1) as f64 / self.processors as f64;
        others as f64 / elapsed
    }
}

/// Processor time of this process and its descendants, in ticks.
fn own_ticks() -> Outcome<u64> {
    let mut processes = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        // A process may end while this is read.
        if let Some(id) = name.to_str().and_then(|name| name.parse::<u32>().ok())
            && let Ok(time) = processor_time_of(id)
        {
            processes.push((id, time));
        }
    }
    let mut own = vec![std::process::id()];
    let mut ticks = 0;
    while let Some(parent) = own.pop() {
        for (id, time) in &processes {
            if *id == parent {
                ticks += (time.own + time.of_ended_children).as_millis() / TICK_MS;
            } else if time.parent == parent {
                own.push(*id);
            }
        }
    }
    Ok(u64::try_from(ticks)?)
}

/// Length of a tick, in milliseconds: Linux reports 100 per second on every machine.
const TICK_MS: u128 = 10;
