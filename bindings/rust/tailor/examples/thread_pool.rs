//! Kernels on a thread pool of the program, which all runs of a runtime share. With the crate rayon the executor would be
//! `|task, count| (0..count).into_par_iter().for_each(task)`.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};

use tailor::graph::{CompileOptions, Graph};
use tailor::{dims, DType, Result, Runtime, RuntimeOptions, Tensor, TensorMut};

/// The calls of one task.
struct Job {
    task: *const (dyn Fn(usize) + Sync),
    count: usize,
    next: AtomicUsize,
    ended: Mutex<usize>,
    all_ended: Condvar,
}

// SAFETY: the task may be called from all threads at once, and `for_each` outlives its calls.
unsafe impl Send for Job {}
unsafe impl Sync for Job {}

impl Job {
    /// Makes calls until none is left.
    fn help(&self) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.count {
                return;
            }
            // SAFETY: `for_each` waits for this call.
            unsafe { (*self.task)(index) };
            let mut ended = self.ended.lock().unwrap();
            *ended += 1;
            if *ended == self.count {
                self.all_ended.notify_all();
            }
        }
    }
}

#[derive(Default)]
struct Queue {
    jobs: Mutex<(VecDeque<Arc<Job>>, bool)>, // and whether the pool ends
    changed: Condvar,
}

struct Pool {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    fn new(threads: usize) -> Pool {
        let queue = Arc::new(Queue::default());
        let work = |queue: Arc<Queue>| thread::spawn(move || work(&queue));
        Pool { threads: (0..threads).map(|_| work(queue.clone())).collect(), queue }
    }

    /// Calls `task` with every index below `count`, on the pool's threads and on this one.
    fn for_each(&self, task: &(dyn Fn(usize) + Sync), count: usize) {
        // SAFETY: this returns after the last call, so the task lives long enough.
        let task = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(task) };
        let (next, ended) = (AtomicUsize::new(0), Mutex::new(0));
        let job = Arc::new(Job { task, count, next, ended, all_ended: Condvar::new() });
        self.queue.jobs.lock().unwrap().0.push_back(job.clone());
        self.queue.changed.notify_all();
        job.help();
        let ended = job.ended.lock().unwrap();
        drop(job.all_ended.wait_while(ended, |ended| *ended < count).unwrap());
    }
}

/// What a thread of the pool does.
fn work(queue: &Queue) {
    loop {
        let mut jobs = queue.changed.wait_while(queue.jobs.lock().unwrap(), |(jobs, end)| jobs.is_empty() && !*end);
        let job = match jobs.as_mut().map(|jobs| jobs.0.front().cloned()) {
            Ok(Some(job)) => job,
            _ => return,
        };
        drop(jobs);
        job.help();
        queue.jobs.lock().unwrap().0.retain(|other| !Arc::ptr_eq(other, &job));
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.queue.jobs.lock().unwrap().1 = true;
        self.queue.changed.notify_all();
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

fn main() -> Result<()> {
    let pool = Pool::new(3);
    let runtime = Runtime::with_options(RuntimeOptions {
        parallel_for: Some(Box::new(move |task, count| pool.for_each(task, count))),
        parallel_threads: 4,
        ..Default::default()
    })?;
    let graph = Graph::new("rows")?;
    let rows = graph.symbol("rows")?;
    let x = graph.input("x", DType::F32, &dims![rows, 256])?;
    graph.output("total", x.exp()?.reduce_sum(&[1])?)?;
    let executable = graph.compile_with(CompileOptions { runtime: Some(&runtime), ..Default::default() })?;

    let run = &|rows: usize| -> Result<f32> {
        let (x, mut total) = (vec![0.0f32; rows * 256], vec![0.0f32; rows]);
        let inputs = [Tensor::new(&x, &[rows as i64, 256])];
        executable.run_into(&inputs, &mut [TensorMut::open(&mut total)])?;
        Ok(total.iter().sum())
    };
    let sums = thread::scope(|scope| {
        let threads = [1, 1000, 5000].map(|rows| scope.spawn(move || run(rows)));
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Result<Vec<f32>>>()
    })?;
    println!("{:?}", sums);
    Ok(())
}
