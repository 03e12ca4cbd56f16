//! The options that fio knows, so that a typo is found before a board boots for it.

/// The shortest similarity (Jaro-Winkler, 0 to 1) at which a name is offered as what was meant.
const LIKE_ENOUGH: f64 = 0.85;

/// Whether fio 3.x has a job option, or one of the common engines' options, of exactly this name.
pub fn known_option(name: &str) -> bool {
    is_common(name) || is_engine_option(name)
}

/// The known option that looks most like `name`, where one looks like it at all.
pub fn nearest_option(name: &str) -> Option<&'static str> {
    // What is twice as long as any option looks like none, and comparing takes time with the square of the length.
    if name.len() > 64 {
        return None;
    }
    let name = name.to_ascii_lowercase().replace('-', "_");
    COMMON
        .iter()
        .chain(ENGINE)
        .map(|known| (strsim::jaro_winkler(&name, known), *known))
        .filter(|(likeness, _)| *likeness >= LIKE_ENOUGH)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

/// Whether an option exists only once its engine has been chosen: fio refuses it before `ioengine`.
pub(crate) fn is_engine_option(name: &str) -> bool {
    ENGINE.contains(&name)
}

fn is_common(name: &str) -> bool {
    COMMON.contains(&name)
}

/// Options of the engines that matter for storage (libaio, io_uring, io_uring_cmd, pvsync2, mmap, sg).
const ENGINE: &[&str] = &[
    "cmd_type",
    "cmdprio",
    "cmdprio_bssplit",
    "cmdprio_class",
    "cmdprio_percentage",
    "fixedbufs",
    "force_async",
    "hipri",
    "hipri_percentage",
    "md_per_io_size",
    "nonvectored",
    "nowait",
    "pi_act",
    "pi_chk",
    "readfua",
    "registerfiles",
    "sg_write_mode",
    "sqthread_poll",
    "sqthread_poll_cpu",
    "stream_id",
    "thp",
    "uncached",
    "userspace_reap",
    "verify_mode",
    "write_mode",
    "writefua",
];

/// Job options of fio 3.x, with their aliases. Sorted.
const COMMON: &[&str] = &[
    "allow_file_create",
    "allow_mounted_write",
    "allrandrepeat",
    "atomic",
    "ba",
    "block_error_percentiles",
    "blockalign",
    "blocksize",
    "blocksize_is_seq_rand",
    "blocksize_range",
    "blocksize_unaligned",
    "bs",
    "bs_is_seq_rand",
    "bs_unaligned",
    "bsrange",
    "bssplit",
    "buffer_compress_chunk",
    "buffer_compress_percentage",
    "buffer_pattern",
    "buffered",
    "bwavgtime",
    "cgroup",
    "cgroup_nodelete",
    "cgroup_weight",
    "clat_percentiles",
    "clocksource",
    "continue_on_error",
    "cpumask",
    "cpus_allowed",
    "cpus_allowed_policy",
    "create_fsync",
    "create_on_open",
    "create_only",
    "create_serialize",
    "dataplacement",
    "dedupe_global",
    "dedupe_mode",
    "dedupe_percentage",
    "dedupe_working_set_percentage",
    "description",
    "direct",
    "directory",
    "disable_clat",
    "disable_lat",
    "disable_slat",
    "disk_util",
    "do_verify",
    "dp_scheme",
    "end_fsync",
    "error_dump",
    "exec_postrun",
    "exec_prerun",
    "exit_what",
    "exitall",
    "exitall_on_error",
    "experimental_verify",
    "fadvise_hint",
    "fallocate",
    "fdatasync",
    "fdp",
    "fdp_pli",
    "file_append",
    "file_service_type",
    "filename",
    "filename_format",
    "fileoffset",
    "filesize",
    "fill_device",
    "fill_fs",
    "flow",
    "flow_id",
    "flow_sleep",
    "fsync",
    "fsync_on_close",
    "gid",
    "group_reporting",
    "gtod_cpu",
    "gtod_reduce",
    "hugepage_size",
    "ignore_error",
    "ignore_zone_limits",
    "invalidate",
    "io_limit",
    "io_size",
    "io_submit_mode",
    "iodepth",
    "iodepth_batch",
    "iodepth_batch_complete",
    "iodepth_batch_complete_max",
    "iodepth_batch_complete_min",
    "iodepth_batch_submit",
    "iodepth_low",
    "ioengine",
    "iomem",
    "iomem_align",
    "iopsavgtime",
    "ioscheduler",
    "job_max_open_zones",
    "job_start_clock_id",
    "kb_base",
    "lat_percentiles",
    "latency_percentile",
    "latency_run",
    "latency_target",
    "latency_window",
    "lockfile",
    "lockmem",
    "log_alternate_epoch",
    "log_avg_msec",
    "log_compression",
    "log_compression_cpus",
    "log_entries",
    "log_hist_coarseness",
    "log_hist_msec",
    "log_issue_time",
    "log_max_value",
    "log_offset",
    "log_prio",
    "log_store_compressed",
    "log_unix_epoch",
    "log_window_value",
    "loops",
    "max_latency",
    "max_open_zones",
    "mem",
    "mem_align",
    "merge_blktrace_file",
    "merge_blktrace_iters",
    "merge_blktrace_scalars",
    "name",
    "new_group",
    "nice",
    "norandommap",
    "nr_files",
    "nrfiles",
    "num_range",
    "numa_cpu_nodes",
    "numa_mem_policy",
    "number_ios",
    "numjobs",
    "offset",
    "offset_align",
    "offset_increment",
    "opendir",
    "openfiles",
    "overwrite",
    "per_job_logs",
    "percentage_random",
    "percentile_list",
    "plid_select",
    "plids",
    "pre_read",
    "prio",
    "prioclass",
    "profile",
    "ramp_time",
    "random_distribution",
    "random_generator",
    "randrepeat",
    "randseed",
    "rate",
    "rate_cycle",
    "rate_ignore_thinktime",
    "rate_iops",
    "rate_iops_min",
    "rate_min",
    "rate_process",
    "ratecycle",
    "ratemin",
    "read_beyond_wp",
    "read_iolog",
    "read_iolog_chunked",
    "readonly",
    "readwrite",
    "recover_zbd_write_error",
    "refill_buffers",
    "replay_align",
    "replay_no_stall",
    "replay_redirect",
    "replay_scale",
    "replay_skip",
    "replay_time_scale",
    "runtime",
    "rw",
    "rw_sequencer",
    "rwmixread",
    "rwmixwrite",
    "scramble_buffers",
    "serialize_overlap",
    "significant_figures",
    "size",
    "slat_percentiles",
    "softrandommap",
    "sprandom",
    "ss",
    "ss_dur",
    "ss_interval",
    "ss_ramp",
    "startdelay",
    "stats",
    "steadystate",
    "steadystate_check_interval",
    "steadystate_duration",
    "steadystate_ramp_time",
    "stonewall",
    "sync",
    "sync_file_range",
    "thinktime",
    "thinktime_blocks",
    "thinktime_blocks_type",
    "thinktime_iotime",
    "thinktime_spin",
    "thread",
    "time_based",
    "timeout",
    "trim_backlog",
    "trim_backlog_batch",
    "trim_percentage",
    "trim_verify_zero",
    "uid",
    "unified_rw_reporting",
    "unique_filename",
    "unit_base",
    "unlink",
    "unlink_each_loop",
    "verify",
    "verify_async",
    "verify_backlog",
    "verify_backlog_batch",
    "verify_dump",
    "verify_fatal",
    "verify_header_seed",
    "verify_interval",
    "verify_offset",
    "verify_only",
    "verify_pattern",
    "verify_state_load",
    "verify_state_save",
    "verify_write_sequence",
    "verifysort",
    "verifysort_nr",
    "wait_for",
    "wait_for_previous",
    "write_barrier",
    "write_bw_log",
    "write_hint",
    "write_hist_log",
    "write_iolog",
    "write_iops_log",
    "write_lat_log",
    "zero_buffers",
    "zone_reset_frequency",
    "zone_reset_threshold",
    "zonecapacity",
    "zonemode",
    "zonerange",
    "zonesize",
    "zoneskip",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_options_are_known() {
        let seeds = "ioengine direct bs size runtime time_based end_fsync group_reporting rw numjobs iodepth \
                     ramp_time norandommap randrepeat invalidate fsync thread offset_increment readwrite hipri";
        for name in seeds.split_whitespace() {
            assert!(known_option(name), "{name}");
        }
        assert!(!known_option("iodeph"));
    }

    #[test]
    fn typos_find_what_was_meant() {
        let cases = [
            ("iodeph", Some("iodepth")),
            ("runtme", Some("runtime")),
            ("num_jobs", Some("numjobs")),
            ("time-based", Some("time_based")),
            ("BS", Some("bs")),
            ("xyzzy", None),
        ];
        for (typo, meant) in cases {
            assert_eq!(nearest_option(typo), meant, "{typo}");
        }
    }

    #[test]
    fn both_lists_are_sorted_and_disjoint() {
        assert!(COMMON.is_sorted() && ENGINE.is_sorted());
        assert!(ENGINE.iter().all(|name| !is_common(name)));
    }
}
