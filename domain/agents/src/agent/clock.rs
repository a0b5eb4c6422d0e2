//! Which reports say that an agent lives now, whatever its clock says.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use chrono::{NaiveDateTime, TimeDelta};

/// What the reports of each agent have said of its clock. An agent is known by its type and host.
pub struct Clocks {
    /// When this server started.
    started: NaiveDateTime,
    agents: Mutex<HashMap<(String, String), Clock>>,
}

/// What is to be made of a report.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Fresh,
    /// The agent starts, and its clock differs by this much from the server's.
    Skewed(TimeDelta),
    /// It waited somewhere on its way, and says nothing of now.
    Late,
}

struct Clock {
    /// The stamp of the newest report.
    newest: NaiveDateTime,
    /// The shortest time from stamp to arrival: how far the clock is behind, and the way of a report.
    behind: TimeDelta,
    /// Stamp and arrival of the last report that was [`Verdict::Late`].
    late: Option<(NaiveDateTime, NaiveDateTime)>,
}

impl Clocks {
    pub fn new(started: NaiveDateTime) -> Clocks {
        Clocks { started, agents: Mutex::default() }
    }

    /// Judges a report that was stamped `sent` by the agent and has arrived `now`. `limit` is how long an agent may be silent.
    pub fn judge(
        &self,
        agent: (&str, &str),
        is_start: bool,
        sent: NaiveDateTime,
        now: NaiveDateTime,
        limit: TimeDelta,
    ) -> Verdict {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (agent.0.to_owned(), agent.1.to_owned());
        let delay = now - sent;
        let fresh = Clock { newest: sent, behind: delay, late: None };
        if is_start {
            agents.insert(key, fresh);
            return if delay.abs() > limit { Verdict::Skewed(delay) } else { Verdict::Fresh };
        }
        let Some(clock) = agents.get_mut(&key) else {
            // What was sent in an earlier life of this server has waited.
            if sent < self.started {
                agents.insert(key, Clock { newest: self.started, behind: TimeDelta::zero(), late: Some((sent, now)) });
                return Verdict::Late;
            }
            agents.insert(key, fresh);
            return Verdict::Fresh;
        };
        if sent >= clock.newest && delay - clock.behind <= limit {
            clock.newest = sent;
            clock.behind = clock.behind.min(delay);
            clock.late = None;
            return Verdict::Fresh;
        }
        // Reports that waited together arrive together. When they come as far apart as they were stamped, none of them waited: the
        // agent's clock was set back.
        if let Some((stamp, arrival)) = clock.late
            && sent > stamp
            && (now - arrival) * 2 >= sent - stamp
        {
            *clock = fresh;
            return Verdict::Fresh;
        }
        clock.late = Some((sent, now));
        Verdict::Late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Agent(Clocks);

    fn time(seconds: i64) -> NaiveDateTime {
        chrono::DateTime::from_timestamp(1_000_000 + seconds, 0).unwrap().naive_utc()
    }

    impl Agent {
        fn of_server_that_started(seconds: i64) -> Agent {
            Agent(Clocks::new(time(seconds)))
        }

        fn reports(&self, is_start: bool, sent: i64, now: i64) -> Verdict {
            self.0.judge(("DHCP agent", "h1"), is_start, time(sent), time(now), TimeDelta::seconds(75))
        }
    }

    #[test]
    fn rpc_agent_clock_and_time_of_reports_that_waited() {
        let agent = Agent::of_server_that_started(-1000);
        assert_eq!(agent.reports(true, 0, 0), Verdict::Fresh);
        assert_eq!(agent.reports(false, 30, 31), Verdict::Fresh);
        // The agent died after these; they come when the broker is back.
        assert_eq!(agent.reports(false, 60, 1000), Verdict::Late);
        assert_eq!(agent.reports(false, 90, 1000), Verdict::Late);
        // It lives again.
        assert_eq!(agent.reports(false, 1020, 1021), Verdict::Fresh);
        assert_eq!(agent.reports(false, 120, 1022), Verdict::Late);
    }

    #[test]
    fn rpc_agent_clock_and_time_of_a_clock_that_is_wrong() {
        let agent = Agent::of_server_that_started(-1000);
        assert_eq!(agent.reports(true, -600, 0), Verdict::Skewed(TimeDelta::seconds(600)));
        assert_eq!(agent.reports(false, -570, 30), Verdict::Fresh);
        // It is set right, and later back by an hour.
        assert_eq!(agent.reports(false, 60, 60), Verdict::Fresh);
        assert_eq!(agent.reports(false, 90 - 3600, 90), Verdict::Late);
        assert_eq!(agent.reports(false, 120 - 3600, 120), Verdict::Fresh);
        assert_eq!(agent.reports(false, 150 - 3600, 150), Verdict::Fresh);
    }

    #[test]
    fn rpc_agent_clock_and_time_of_before_the_server() {
        let agent = Agent::of_server_that_started(0);
        assert_eq!(agent.reports(false, -40, 1), Verdict::Late);
        assert_eq!(agent.reports(false, -10, 1), Verdict::Late);
        assert_eq!(agent.reports(false, 20, 20), Verdict::Fresh);
        // The clock of this agent is wrong.
        let agent = Agent::of_server_that_started(0);
        assert_eq!(agent.reports(false, -600, 10), Verdict::Late);
        assert_eq!(agent.reports(false, -570, 40), Verdict::Fresh);
    }
}
