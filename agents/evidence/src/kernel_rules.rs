//! Rules on the kernel log: a message fits when all fragments of one pattern occur in it in their order.

use crate::kernel_log::KernelLog;
use crate::rule::{Class, RuleInfo};
use kab_model::Reason;

/// Longest message that is quoted whole.
const QUOTE: usize = 160;

/// A rule on messages.
pub(crate) struct KernelRule {
    /// Name, class and description.
    pub(crate) info: RuleInfo,
    /// Patterns, any of which fits. A fragment that begins with `^` must be at the start of the message.
    patterns: &'static [&'static [&'static str]],
}

/// What the rules find in a log: one reason a rule, in the order of [`RULES`], with its first message.
/// Each message counts for the first rule that it fits.
pub(crate) fn judge(log: &KernelLog) -> Vec<(Class, Reason)> {
    let mut hits: Vec<Option<(&str, usize)>> = vec![None; RULES.len()];
    for message in log.messages() {
        if let Some(rule) = RULES.iter().position(|rule| rule.fits(message)) {
            hits[rule].get_or_insert((message, 0)).1 += 1;
        }
    }
    let found = RULES.iter().zip(hits).filter_map(|(rule, hit)| hit.map(|hit| (rule, hit)));
    found.map(|(rule, (message, count))| (rule.info.class, rule.reason(message, count))).collect()
}

impl KernelRule {
    fn fits(&self, message: &str) -> bool {
        self.patterns.iter().any(|pattern| in_order(message, pattern))
    }

    fn reason(&self, message: &str, count: usize) -> Reason {
        let mut detail: String = message.chars().filter(|c| !c.is_control()).take(QUOTE).collect();
        if count > 1 {
            detail.push_str(&format!(" ({count} messages)"));
        }
        Reason { rule: self.info.name.to_owned(), detail }
    }
}

fn in_order(message: &str, pattern: &[&str]) -> bool {
    let mut rest = message;
    pattern.iter().all(|fragment| {
        let after = match fragment.strip_prefix('^') {
            Some(start) => rest.strip_prefix(start),
            None => rest.split_once(fragment).map(|(_, after)| after),
        };
        rest = after.unwrap_or("");
        after.is_some()
    })
}

const fn rule(
    name: &'static str,
    class: Class,
    about: &'static str,
    patterns: &'static [&'static [&'static str]],
) -> KernelRule {
    KernelRule { info: RuleInfo { name, class, about }, patterns }
}

/// Texts of Linux 4.19 to 6.19.
#[rustfmt::skip]
pub(crate) const RULES: &[KernelRule] = &[
    rule("kernel-panic", Class::Failed, "the kernel panicked", &[&["Kernel panic - not syncing"]]),
    rule("kernel-oops", Class::Failed, "the kernel hit a fault or a BUG()", &[
        &["Oops: "], &["^Oops"], &["Internal error: "], &["kernel BUG at "], &["BUG: unable to handle"],
        &["BUG: kernel NULL pointer dereference"], &["Unable to handle kernel "], &["general protection fault"],
        &["stack segment: "], &["invalid opcode: "],
    ]),
    rule("suspended", Class::Void, "the board slept during the trial", &[
        &["PM: suspend entry"], &["PM: hibernation: hibernation entry"],
    ]),
    rule("rcu-stall", Class::Noted, "RCU reported a stall", &[
        &["INFO: rcu", "detected ", "stall"], &["rcu", "kthread starved for "],
    ]),
    rule("soft-lockup", Class::Noted, "a CPU or workqueue was stuck", &[
        &["BUG: soft lockup"], &["hard LOCKUP on cpu"], &["BUG: workqueue lockup"],
    ]),
    rule("hung-task", Class::Noted, "a task was blocked for long", &[&["INFO: task ", " blocked for more than "]]),
    rule("lockdep", Class::Noted, "the lock checker objected", &[
        &["WARNING: possible "], &["WARNING: suspicious RCU usage"], &["WARNING: bad unlock balance"],
        &["WARNING: inconsistent lock state"], &["WARNING: ", "-unsafe lock order detected"],
        &["WARNING: held lock freed"], &["INFO: lockdep is turned off"],
    ]),
    // Up to 6.18 "WARNING: CPU: 1 PID: 2 at file:3 function", since 6.19 "WARNING: file:3 at function, CPU#1: …".
    rule("kernel-warn", Class::Noted, "WARN() spoke", &[
        &["WARNING: CPU: "], &["WARNING: ", " at ", "CPU#"],
    ]),
    rule("kernel-bug", Class::Noted, "a checker of the kernel found a bug", &[
        &["BUG: KASAN"], &["BUG: KCSAN"], &["BUG: KFENCE"], &["BUG: KMSAN"], &["^UBSAN: "], &["BUG: sleeping function"],
        &["BUG: scheduling while atomic"], &["BUG: Bad "], &["BUG: spinlock "], &["refcount_t: "],
        &["irq ", ": nobody cared"], &["unreferenced object 0x"],
    ]),
    rule("ufs-error", Class::Noted, "the UFS driver recovered from an error", &[
        &["ufshcd", "_err_handler started"], &["ufshcd", "Device abort task"], &["ufshcd", "Aborting tag"],
        &["ufshcd", "OCS error from controller"], &["ufshcd", "saved_err"], &["ufshcd", "UFS Host state="],
        &["ufshcd", "reset and restore failed"], &["ufshcd", "hibern8 ", " failed"], &["ufshcd", "clock scaling", "failed"],
        &["ufshcd", "failed to scale clocks"], &["ufshcd", "link startup failed"], &["ufshcd", "timeout"],
        &["ufshcd", "timed out"], &["ufshcd", "controller reset"], &["ufshcd", "power mode change failed"],
    ]),
    rule("nvme-error", Class::Noted, "the NVMe driver timed out, aborted or reset", &[
        &["nvme", "I/O ", "timeout"], &["nvme", "Abort status: "], &["nvme", "controller is down"],
        &["nvme", "Disabling device after reset failure"], &["nvme", "frozen state error detected"],
        &["nvme", "resetting controller"], &["nvme", "Removing after probe failure"], &["nvme", "I/O Error "],
    ]),
    rule("mmc-error", Class::Noted, "the MMC driver timed out or recovered", &[
        &["mmc", "Timeout waiting for hardware"], &["mmc", "SDHCI REGISTER DUMP"], &["mmc", "interrupt 0x", "even though no"],
        &["mmc", "ADMA error"], &["mmc", "running CQE recovery"], &["cqhci: timeout for tag"], &["cqhci: CQE stuck"],
        &["mmc", "Card stuck being busy"], &["mmc", "cache flush error"], &["mmcblk", "recovery failed"],
        &["mmc", "tuning execution failed"], &["mmc", "never completed"], &["mmc", "cmd timeout"],
    ]),
    rule("scsi-error", Class::Noted, "the SCSI, ATA or USB layer aborted or reset", &[
        &["rejecting I/O to offline device"], &["Sense Key : "], &["^ata", "failed command"], &["^ata", "exception Emask"],
        &["^ata", "hard resetting link"], &["uas_eh_"], &["^usb ", "reset ", "peed", "USB device"], &["scsi", "Device offlined"],
        &["^sd ", "timing out command"], &["^sd ", "hostbyte=DID_", "driverbyte="],
    ]),
    rule("virtio-error", Class::Noted, "a virtual device misbehaved", &[
        &["virtio", "timeout"], &["virtio", "is not a head"], &["virtio_blk", "reset"],
    ]),
    // After the drivers: their own word on an error tells more.
    rule("block-error", Class::Noted, "the block layer saw an error and went on", &[
        &["error, dev ", ", sector "], &["Buffer I/O error on dev"], &["lost async page write"],
        &["lost sync page write"], &["print_req_error: "],
    ]),
    rule("bus-error", Class::Noted, "PCIe or an IOMMU reported an error", &[
        &["AER: ", "orrect"], &["AER: Multiple"], &["PCIe Bus Error"], &["arm-smmu", "context fault"], &["DMAR: ", "fault"],
        &["AMD-Vi: ", "IO_PAGE_FAULT"], &["mce: [Hardware Error]"], &["EDAC ", " UE "],
    ]),
    rule("throttled", Class::Noted, "the board got too hot", &[
        &["temperature above threshold"], &["temperature is above threshold"], &["cpu clock is throttled"],
        &["cpu clock throttled"], &["critical temperature reached"],
    ]),
    rule("out-of-memory", Class::Noted, "memory ran out", &[
        &["invoked oom-killer"], &["oom-kill:constraint="], &["Out of memory: "], &["page allocation failure"],
    ]),
    rule("clock-unstable", Class::Noted, "the kernel lost trust in its clock", &[
        &["Marking clocksource ", " as unstable"], &["clocksource: timekeeping watchdog on CPU"],
    ]),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn found(log: &str) -> Vec<(String, String)> {
        let log = KernelLog::parse(log.as_bytes());
        judge(&log).into_iter().map(|(_, reason)| (reason.rule, reason.detail)).collect()
    }

    #[test]
    fn real_messages_fit_their_rule() {
        let cases = include_str!("../tests/kernel-messages.txt");
        let mut seen = std::collections::BTreeSet::new();
        for line in cases.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let Some((rule, message)) = line.split_once('\t') else { panic!("no tab in {line:?}") };
            let found: Vec<String> = found(message).into_iter().map(|(rule, _)| rule).collect();
            let wanted: Vec<&str> = if rule == "-" { vec![] } else { vec![rule] };
            assert_eq!(found, wanted, "{message}");
            seen.insert(rule);
        }
        for rule in RULES {
            assert!(seen.contains(rule.info.name), "no message for {}", rule.info.name);
        }
    }

    #[test]
    fn a_rule_speaks_once_with_its_first_message_and_their_number() {
        let log = "4,1,1,-;WARNING: CPU: 0 PID: 1 at a.c:1 f+0x1/0x2\n4,2,2,-;hung\n\
                   4,3,3,-;WARNING: CPU: 3 PID: 1 at b.c:1 g+0x1/0x2\n";
        let detail = "WARNING: CPU: 0 PID: 1 at a.c:1 f+0x1/0x2 (2 messages)";
        assert_eq!(found(log), [("kernel-warn".to_owned(), detail.to_owned())]);
    }

    #[test]
    fn long_messages_are_cut_and_control_characters_dropped() {
        let log = format!("BUG: KASAN: \u{1b}[31m{}", "x".repeat(500));
        let detail = &found(&log)[0].1;
        assert_eq!(detail.chars().count(), QUOTE);
        assert!(!detail.contains('\u{1b}'));
    }
}
