#!/bin/sh
# Brings a virtual board up: file systems and the network. busybox init runs it once and then keeps Dropbear running.
# The lines that begin with "kab-board:" are read on the console by the driver.
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
for folder in /dev/shm /run /tmp; do mount -t tmpfs tmpfs $folder; done
if [ -d /sys/kernel/debug ]; then mount -t debugfs debugfs /sys/kernel/debug; fi
hostname kab-board
# Modules that came with the kernel, for the devices that are there. A bus that the first pass brings up has devices of its own.
if [ -f "/lib/modules/$(uname -r)/modules.dep" ]; then
    for pass in 1 2; do find /sys/devices -name modalias -exec cat {} + | sort -u | xargs modprobe -a -q; done
fi
ip link set lo up
# The addresses are those of QEMU's user network.
if ip addr add 10.0.2.15/24 dev eth0 && ip link set eth0 up && ip route add default via 10.0.2.2
then echo "kab-board: ready"
else echo "kab-board: no network"
fi
