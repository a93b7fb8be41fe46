// SPDX-License-Identifier: GPL-2.0-or-later
// Panics through probed functions, caught; in threads too, and with what must be dropped on the way.
use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicU64, Ordering};

static DROPPED: AtomicU64 = AtomicU64::new(0);

struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

#[no_mangle]
#[inline(never)]
pub fn rust_leaf(value: u64) -> u64 {
    if value % 3 == 0 {
        panic!("as asked");
    }
    std::hint::black_box(value + 1)
}

#[no_mangle]
#[inline(never)]
pub fn rust_through(value: u64) -> u64 {
    let _counted = Counted;
    std::hint::black_box(rust_leaf(value)) + 1
}

fn run() -> u64 {
    (0..300).filter(|i| std::panic::catch_unwind(|| rust_through(*i)).is_err()).count() as u64
}

fn main() {
    let stdin = io::stdin();
    std::panic::set_hook(Box::new(|_| {}));
    println!("ready");
    io::stdout().flush().unwrap();
    stdin.lock().lines().next();
    let caught = run() + std::thread::spawn(run).join().unwrap();
    let joined = std::thread::spawn(|| rust_through(0)).join().is_err();
    println!("rust_leaf 601\nrust_through 601\ncaught {}\ndropped {}\nfailures {}\ndone", caught,
             DROPPED.load(Ordering::Relaxed), if joined { 0 } else { 1 });
    io::stdout().flush().unwrap();
    for _ in stdin.lock().lines() {}
}
