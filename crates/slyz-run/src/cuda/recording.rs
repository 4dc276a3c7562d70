//! Launches that a GPU keeps: graphs, made by capturing a stream that nothing runs in.

use super::array::CudaArray;
use super::condition::Condition;
use super::opened::Opened;
use crate::Error;
use cudarc::driver::{result, sys};
use std::sync::{Arc, Mutex, PoisonError};

/// The first version of the driver that makes graphs as it is asked here.
const GRAPHS: i32 = 11_040;
/// The first version with loops in graphs.
const LOOPS: i32 = 12_040;

/// A graph that the GPU runs as a whole.
pub(crate) struct Recording {
    /// One thread at a time may launch it.
    graph: Mutex<sys::CUgraphExec>,
    opened: Arc<Opened>,
    _arrays: Vec<Arc<CudaArray>>,
}

// SAFETY: the driver's handles may be used by any thread, this one behind its lock.
unsafe impl Send for Recording {}
// SAFETY: the same.
unsafe impl Sync for Recording {}

impl Recording {
    pub(super) fn run(&self) -> Result<(), Error> {
        self.opened.enter()?;
        let graph = self.graph.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the graph lives, and so does the stream.
        unsafe { result::graph::launch(*graph, self.opened.stream) }
            .map_err(|error| self.opened.trouble(error, &"the launch of a graph", 0))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if self.opened.enter().is_ok() {
            let graph = self.graph.get_mut().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: nobody has it any more; the driver keeps what still runs.
            let _ = unsafe { result::graph::exec_destroy(*graph) };
        }
    }
}

/// A graph being made.
pub(super) struct Capture {
    opened: Arc<Opened>,
    /// Launches in it are kept.
    pub(super) stream: sys::CUstream,
    is_open: bool,
    around: Option<Around>,
}

/// A graph whose loop is what is captured.
struct Around {
    graph: sys::CUgraph,
    /// What says whether the loop goes on.
    handle: sys::CUgraphConditionalHandle,
    condition: Arc<Condition>,
}

impl Capture {
    /// `None` where the driver cannot.
    pub(super) fn new(opened: &Arc<Opened>, while_it_holds: bool) -> Result<Option<Capture>, Error> {
        opened.enter()?;
        let needed = if while_it_holds { LOOPS } else { GRAPHS };
        if opened.driver < needed {
            return Ok(None);
        }
        let condition = match while_it_holds {
            true => opened.condition(),
            false => None,
        };
        if while_it_holds && condition.is_none() {
            return Ok(None);
        }
        let trouble = |error| opened.trouble(error, &"to keep launches", 0);
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking).map_err(trouble)?;
        let mut capture = Capture { opened: opened.clone(), stream, is_open: false, around: None };
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream was made just now, and all that is pointed to lives.
        unsafe {
            match condition {
                None => result::stream::begin_capture(stream, mode),
                Some(condition) => {
                    let (around, body) = opened_loop(opened, condition).map_err(trouble)?;
                    capture.around = Some(around);
                    let none = std::ptr::null();
                    sys::cuStreamBeginCaptureToGraph(stream, body, none, std::ptr::null(), 0, mode).result()
                }
            }
        }
        .map_err(trouble)?;
        capture.is_open = true;
        Ok(Some(capture))
    }

    /// The graph, with the arrays that only it needs; its loop goes on while what is at `holds` does.
    pub(super) fn end(mut self, holds: Option<u64>, arrays: Vec<Arc<CudaArray>>) -> Result<Recording, Error> {
        self.opened.enter()?;
        let opened = self.opened.clone();
        let trouble = |error| opened.trouble(error, &"to keep launches", 0);
        if let (Some(around), Some(holds)) = (&self.around, holds) {
            // SAFETY: the handle is of the graph around, and the address of a `bool` that lives as long as the call.
            unsafe { around.condition.set(self.stream, around.handle, holds) }.map_err(trouble)?;
        }
        self.is_open = false;
        // SAFETY: the stream is captured, and the graph that comes of it is ours, or a part of the one around.
        let graph = unsafe {
            let captured = result::stream::end_capture(self.stream).map_err(trouble)?;
            let graph = self.around.as_ref().map_or(captured, |around| around.graph);
            let made = result::graph::instantiate(graph, sys::CUgraphInstantiate_flags(0));
            if self.around.is_none() {
                let _ = result::graph::destroy(captured);
            }
            made.map_err(trouble)?
        };
        Ok(Recording { graph: Mutex::new(graph), opened, _arrays: arrays })
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        // SAFETY: nobody has the stream, nor the graph around, any more. What was captured before an error is given up.
        unsafe {
            if self.is_open
                && let Ok(captured) = result::stream::end_capture(self.stream)
                && self.around.is_none()
            {
                let _ = result::graph::destroy(captured);
            }
            if let Some(around) = &self.around {
                let _ = result::graph::destroy(around.graph);
            }
            let _ = result::stream::destroy(self.stream);
        }
    }
}

/// A graph with a loop, and the loop's body.
///
/// # Safety
/// The GPU is this thread's.
unsafe fn opened_loop(
    opened: &Opened,
    condition: Arc<Condition>,
) -> Result<(Around, sys::CUgraph), result::DriverError> {
    let mut graph = std::ptr::null_mut();
    let mut handle = 0;
    let mut body = std::ptr::null_mut();
    // SAFETY: all that is pointed to lives, and what is left of the parameters may be 0.
    unsafe {
        sys::cuGraphCreate(&mut graph, 0).result()?;
        let around = |handle| Around { graph, handle, condition };
        let context = opened.context;
        let created =
            sys::cuGraphConditionalHandleCreate(&mut handle, graph, context, 1, sys::CU_GRAPH_COND_ASSIGN_DEFAULT);
        let added = created.result().and_then(|()| {
            let mut node = std::ptr::null_mut();
            let mut parameters: sys::CUgraphNodeParams = std::mem::zeroed();
            parameters.type_ = sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL;
            parameters.__bindgen_anon_1.conditional = sys::CUDA_CONDITIONAL_NODE_PARAMS {
                handle,
                type_: sys::CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_WHILE,
                size: 1,
                phGraph_out: std::ptr::null_mut(),
                ctx: context,
            };
            let none = std::ptr::null();
            sys::cuGraphAddNode_v2(&mut node, graph, none, std::ptr::null(), 0, &mut parameters).result()?;
            body = *parameters.__bindgen_anon_1.conditional.phGraph_out;
            Ok(())
        });
        if let Err(error) = added {
            let _ = result::graph::destroy(graph);
            return Err(error);
        }
        Ok((around(handle), body))
    }
}
