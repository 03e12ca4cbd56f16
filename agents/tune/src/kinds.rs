//! Where the files of a knob are on this board, and what its value means for each.

use crate::catalogue::Kind;
use crate::interrupts::{Spread, fastest_cpu, of_device, online};
use crate::view::{number, numbered};
use crate::{Device, Form, View};

const CPUS: &str = "/sys/devices/system/cpu";

/// A file of a knob and what is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: String,
    pub(crate) form: Form,
    pub(crate) to: String,
}

/// The board as far as knobs need it.
pub(crate) struct Board<'a> {
    pub(crate) view: &'a dyn View,
    pub(crate) device: &'a Device,
    /// As the lab says.
    pub(crate) fastest_cpu: Option<u32>,
}

impl Board<'_> {
    /// The files of a knob, or what the board lacks.
    pub(crate) fn places(&self, kind: Kind, name: &str, value: &str) -> Result<Vec<Place>, String> {
        let tail = || name.split_once('.').map(|(_, tail)| tail).unwrap_or_default();
        match kind {
            Kind::File(path) => self.files([path.to_owned()], value, "is not there"),
            Kind::Path => self.files([name.to_owned()], value, "is not there"),
            Kind::Sysctl => {
                self.files([format!("/proc/sys/{}", tail().replace('.', "/"))], value, "is not there")
            }
            Kind::Module => {
                let (module, parameter) = tail().rsplit_once('.').ok_or("it needs MODULE.PARAMETER")?;
                let path = format!("/sys/module/{}/parameters/{parameter}", module.replace('-', "_"));
                self.files([path], value, "is not there")
            }
            Kind::Property => self.files([format!("property:{}", tail())], value, "no such property"),
            Kind::Service => self.files([format!("service:{}", tail())], value, "no such unit"),
            Kind::Policy(file) => self.policy(file, value),
            Kind::PolicyLimit(file) => self.policy_limit(file, value),
            Kind::Boost => self.boost(value),
            Kind::Idle => self.idle(value),
            Kind::Devfreq(file) => self.files(self.devfreq(file), value, "no devfreq device"),
            Kind::DevfreqLimit(file) => self.devfreq_limit(file, value),
            Kind::UfsHost(file) => {
                let hosts = self.device.ufs_hosts.iter().map(|host| format!("{host}/{file}"));
                self.files(hosts, value, "no UFS controller of the target has it")
            }
            Kind::PowerControl => self.power(value),
            Kind::Nvme(file) => {
                let controllers =
                    self.device.nvme.iter().map(|name| format!("/sys/class/nvme/{name}/{file}"));
                self.files(controllers, value, "no NVMe controller of the target has it")
            }
            Kind::Queue(file) => self.queue(file, value),
            Kind::AnyQueue => self.queue(tail(), value),
            Kind::Interrupts => self.interrupts(value),
        }
    }

    /// Those of the files that exist, all with one value.
    fn files(
        &self,
        paths: impl IntoIterator<Item = String>,
        value: &str,
        lack: &str,
    ) -> Result<Vec<Place>, String> {
        let paths: Vec<String> = paths.into_iter().collect();
        let there = paths.iter().filter(|path| self.view.read(path).is_some());
        let places: Vec<Place> = there
            .map(|path| Place { path: path.clone(), form: form_of(path), to: value.to_owned() })
            .collect();
        match (places.is_empty(), &paths[..]) {
            (false, _) => Ok(places),
            (true, [path]) if path.starts_with('/') => Err(format!("{path} is not there or cannot be read")),
            (true, _) => Err(lack.to_owned()),
        }
    }

    fn policies(&self) -> Vec<String> {
        let folder = format!("{CPUS}/cpufreq");
        numbered(self.view, &folder, "policy").into_iter().map(|name| format!("{folder}/{name}")).collect()
    }

    fn policy(&self, file: &str, value: &str) -> Result<Vec<Place>, String> {
        let policies = self.policies();
        if file == "scaling_governor" && !policies.is_empty() {
            let offers = |policy: &String| {
                let list = self.view.read(&format!("{policy}/scaling_available_governors"));
                list.is_none_or(|list| list.split_whitespace().any(|word| word == value))
            };
            if !policies.iter().any(offers) {
                return Err(format!("no CPU has a governor {value}"));
            }
        }
        self.files(
            policies.iter().map(|policy| format!("{policy}/{file}")),
            value,
            "the CPUs' frequency is not ours to choose",
        )
    }

    fn policy_limit(&self, file: &str, value: &str) -> Result<Vec<Place>, String> {
        let limit = |policy: &String| {
            let source = match value {
                "min" => number(self.view, &format!("{policy}/cpuinfo_min_freq")),
                "max" => number(self.view, &format!("{policy}/cpuinfo_max_freq")),
                other => other.parse().ok(),
            };
            let path = format!("{policy}/{file}");
            self.view.read(&path)?;
            Some(Place { path, form: Form::Words, to: source?.to_string() })
        };
        some(self.policies().iter().filter_map(limit).collect(), "the CPUs' frequency is not ours to choose")
    }

    fn boost(&self, value: &str) -> Result<Vec<Place>, String> {
        let inverse = format!("{CPUS}/intel_pstate/no_turbo");
        if self.view.read(&inverse).is_some() {
            let to = if value == "0" { "1" } else { "0" };
            return self.files([inverse], to, "");
        }
        let global = format!("{CPUS}/cpufreq/boost");
        if self.view.read(&global).is_some() {
            return self.files([global], value, "");
        }
        self.files(
            self.policies().iter().map(|policy| format!("{policy}/boost")),
            value,
            "no turbo frequencies",
        )
    }

    fn idle(&self, value: &str) -> Result<Vec<Place>, String> {
        let states = numbered(self.view, CPUS, "cpu").into_iter().flat_map(|cpu| {
            let folder = format!("{CPUS}/{cpu}/cpuidle");
            let states = numbered(self.view, &folder, "state").into_iter();
            // The first one is the plain wait for an interrupt.
            states.filter(|state| state != "state0").map(move |state| format!("{folder}/{state}/disable"))
        });
        self.files(states, value, "no idle states beyond the first")
    }

    fn devfreq(&self, file: &'static str) -> impl Iterator<Item = String> {
        let names = self.view.list("/sys/class/devfreq").into_iter();
        names
            .filter(|name| !["gpu", "kgsl", "mali"].iter().any(|part| name.contains(part)))
            .map(move |name| format!("/sys/class/devfreq/{name}/{file}"))
    }

    fn devfreq_limit(&self, file: &'static str, value: &str) -> Result<Vec<Place>, String> {
        let limit = |path: String| {
            self.view.read(&path)?;
            let folder = path.rsplit_once('/')?.0;
            let table = self.view.read(&format!("{folder}/available_frequencies")).unwrap_or_default();
            let mut table: Vec<u64> = table.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            table.sort_unstable();
            let to = match value {
                "min" => table.first().copied(),
                "max" => table.last().copied(),
                other => other.parse().ok(),
            };
            Some(Place { form: Form::Words, to: to?.to_string(), path })
        };
        some(self.devfreq(file).filter_map(limit).collect(), "no devfreq device with a table of frequencies")
    }

    /// Each device on the way from the disk to its bus that has a switch.
    fn power(&self, value: &str) -> Result<Vec<Place>, String> {
        let mut paths: Vec<String> = Vec::new();
        for place in &self.device.places {
            let mut folder = place.as_str();
            while let Some((parent, _)) = folder.rsplit_once('/')
                && folder.len() > "/sys/devices".len()
            {
                let path = format!("{folder}/power/control");
                if !paths.contains(&path) {
                    paths.push(path);
                }
                folder = parent;
            }
        }
        // From the bus to the disk: a child keeps its parents awake anyway.
        paths.reverse();
        self.files(paths, value, "no device of the target has run-time sleep")
    }

    fn queue(&self, file: &str, value: &str) -> Result<Vec<Place>, String> {
        if self.device.disks.is_empty() {
            return Err("the target is no disk".to_owned());
        }
        let paths = self.device.disks.iter().map(|disk| format!("/sys/block/{disk}/queue/{file}"));
        let mut places = self.files(paths, value, "no queue of the target's disks has it")?;
        if file == "scheduler" {
            // Without brackets there is no choice: the queue takes any word and does nothing. With them, a word that is not
            // listed may still be a module.
            let offers = |place: &Place| {
                let list = self.view.read(&place.path).unwrap_or_default();
                list.contains('[') || Form::Words.same(&list, value)
            };
            places.retain(offers);
            return some(places, "no queue of the target's disks has schedulers to choose from");
        }
        Ok(places)
    }

    fn interrupts(&self, value: &str) -> Result<Vec<Place>, String> {
        let mut vectors: Vec<_> = Vec::new();
        for place in &self.device.places {
            for vector in of_device(self.view, place, &self.device.interrupt_names) {
                if !vectors.contains(&vector) {
                    vectors.push(vector);
                }
            }
        }
        let (online, count) = (online(self.view), vectors.len());
        let fastest = self.fastest_cpu.unwrap_or_else(|| fastest_cpu(self.view, &online));
        let place = |(index, vector): (usize, &crate::Vector)| Place {
            path: format!("/proc/irq/{}/smp_affinity_list", vector.irq),
            form: Form::Cpus,
            to: match Spread::parse(value) {
                Some(spread) => spread.cpu(index, count, &online, fastest).to_string(),
                None => value.to_owned(),
            },
        };
        let places = vectors.iter().enumerate().map(place);
        let there = places.filter(|place| self.view.read(&place.path).is_some()).collect();
        some(there, "no interrupt of the target is known by name")
    }
}

fn form_of(path: &str) -> Form {
    if path.ends_with("_list") { Form::Cpus } else { Form::Words }
}

fn some(places: Vec<Place>, lack: &str) -> Result<Vec<Place>, String> {
    if places.is_empty() { Err(lack.to_owned()) } else { Ok(places) }
}
