#include "simulate/labelled_log.h"

namespace telltale::simulate {

namespace {

// A statement a line, as its source would format it. Several differ in one word only, several have
// words as values, several have lists or fields that are not always there.
constexpr std::string_view kStatements[] = {
    // vLLM V1
    "Engine {three}: Avg prompt throughput: {float} tokens/s, Avg generation throughput: {float} "
    "tokens/s, Running: {int} reqs, Waiting: {int} reqs,[ Preemptions: {int},] GPU KV cache usage: "
    "{percent}%, Prefix cache hit rate: {percent}%[, External prefix cache hit rate: {percent}%]",
    "Added request {request}.",
    "Aborted request {request}.",
    "Finished request {request}.",
    "Received request {request}: prompt: {prompt}, params: SamplingParams(n={small}, "
    "temperature={float}, top_p={float}, max_tokens={int}), prompt_token_ids: [{list}], "
    "lora_request: {optional}.",
    "Maximum concurrency for {comma} tokens per request: {float}x",
    "GPU KV cache size: {comma} tokens",
    "Available KV cache memory: {float} GiB",
    "Model loading took {float} GiB memory and {float} seconds",
    "Loading weights took {float} seconds",
    "Loading drafter model {model}",
    "Starting to load model {model}...",
    "Graph capturing finished in {small} secs, took {float} GiB",
    "Graph compiling finished in {small} secs for {model}",
    "Using {backend} backend on {engine} engine.",
    "Using max model len {int}",
    "Chunked prefill is enabled with max_num_batched_tokens={int}.",
    "Chunked prefill is disabled with max_num_batched_tokens={int}.",
    "non-default args: {dict}",
    "vLLM is using nccl=={version}",
    "rank {small} in world size {small} is assigned as DP rank {small}, PP rank {small}, TP rank "
    "{small}, EP rank {small}",
    "Directly load the compiled graph(s) for shape {optional} from the cache, took {float} s",
    "EngineCore encountered a fatal error.",
    "EngineCore hit an exception: {class} raised in {function}",
    "Dumping input data for V1 LLM engine ({version}) with config: model={model}, dtype={dtype}, "
    "max_seq_len={int}, tensor_parallel_size={small}, enforce_eager={bool}, seed={int}",
    "Iteration({int}): {small} context requests, {int} context tokens, {int} generation requests, "
    "{int} generation tokens, iteration elapsed time: {float} ms",
    "{ipport} - \"{route} HTTP/1.1\" {status}",
    // vLLM V0
    "Avg prompt throughput: {float} tokens/s, Avg generation throughput: {float} tokens/s, "
    "Running: "
    "{int} reqs, Swapped: {int} reqs, Pending: {int} reqs, GPU KV cache usage: {percent}%, CPU KV "
    "cache usage: {percent}%.",
    "Sequence group {int} is preempted by PreemptionMode.{mode} mode because there is not enough "
    "KV "
    "cache space. total_cumulative_preemption_cnt={int}",
    "# GPU blocks: {int}, # CPU blocks: {int}",
    "Memory profiling takes {float} seconds",
    "Worker {worker} pid {int} died, exit code: {signed}",
    "Worker {worker} is ready for {role} after {float} s",
    // SGLang
    "Prefill batch, #new-seq: {small}, #new-token: {int}, #cached-token: {int}, token usage: "
    "{float}, #running-req: {int}, #queue-req: {int},[ #pending-token: {int},][ cuda graph: "
    "{bool},][ input throughput (token/s): {float},]",
    "Decode batch, #running-req: {int}, #token: {int}, token usage: {float},[ accept len: "
    "{float},] "
    "cuda graph: {bool}, gen throughput (token/s): {float}, #queue-req: {int},",
    "KV cache pool is full. Retract requests. #retracted_reqs: {small}, #new_token_ratio: {float} "
    "-> "
    "{float}",
    "Watchdog timeout (self.watchdog_timeout={int})",
    "Received sigquit from a child process. It usually means the child failed.",
    "Load weight begin. avail mem={float} GB",
    "Load weight end. type={class}, dtype={dtype}, avail mem={float} GB, mem usage={float} GB.",
    "Capture cuda graph begin. This can take up to several minutes. avail mem={float} GB",
    "Capture cuda graph end. Time elapsed: {float} s. mem usage={float} GB. avail mem={float} GB.",
    "Capture cuda graph bs [{list}]",
    "Attention backend not set. Use {backend} backend by default.",
    "Cache flushed successfully!",
    "Disaggregation: prefill {host} paired with decode {host} over {nic}",
    // torchtitan
    "step: {int} loss: {float} grad_norm: {float} memory: {float}GiB({percent}%) tps: {comma} "
    "tflops: {float} mfu: {percent}%",
    "Warmup steps ({int}) exceed total steps ({int}). Adjusting warmup steps to {int}.",
    "Preparing {dataset} dataset from {path}",
    "Building {dataset} tokenizer from {path}",
    "Peak FLOPS used for computing MFU: {exponent}",
    "CUDA memory usage for model: {bytes}({percent}%)",
    "Model {model} size: {comma} total parameters",
    "Saving the checkpoint (or staging if async is enabled).",
    "Finished saving the checkpoint in {float} seconds.",
    "Finished loading the checkpoint in {float} seconds.",
    "Loading the checkpoint from {path}.",
    "Applied FSDP to the model",
    "Applied DDP to the model",
    "Applied {checkpointing} activation checkpointing to the model",
    "Training starts at step {int}",
    "Training completed",
    "[GC] Performing periodic GC collection took {float} seconds",
    "CUDA out of memory. Tried to allocate {size}. GPU {small} has a total capacity of {size} of "
    "which {size} is free. Process {int} has {size} memory in use.",
    // NCCL
    "NCCL version {version}+cuda{float}",
    "{init} comm {hex} rank {small} nranks {int} cudaDev {small} nvmlDev {small} busId {bus} "
    "commId "
    "{hex} - Init START",
    "{init} comm {hex} rank {small} nranks {int} cudaDev {small} nvmlDev {small} busId {bus} "
    "commId "
    "{hex} - Init COMPLETE",
    "Channel {two}/{small} : {small}[{small}] -> {small}[{small}] via P2P/CUMEM",
    "Channel {two}/{small} : {small}[{small}] -> {small}[{small}] [send] via NET/IB/{small}/GDRDMA",
    "Channel {two}/{small} : {small}[{small}] -> {small}[{small}] [receive] via "
    "NET/IB/{small}/GDRDMA",
    "Connected all rings",
    "Connected all trees",
    "Trees {trees}",
    "{op}: opCount {shorthex} sendbuff {hex} recvbuff {hex} count {int} datatype {small} op "
    "{small} "
    "root {small} comm {hex} [nranks={int}] stream {hex}",
    "NET/IB : Got completion from peer {peer} with status={small} opcode={small} len={int} vendor "
    "err {int} ({direction}) localGid {gid} remoteGids {gid} hca {nic}",
    "NET/IB : {nic}:{small} async fatal event: {words}",
    "socketProgress: Connection closed by remote peer {host}<{int}>",
    "transport/net.cc:{int} -> {small}",
    "proxy.cc:{int} -> {small}",
    "Call to {call} failed : {errno}",
    "NCCL_{variable} set by environment to {int}.",
    "comm {hex} rank {small} nRanks {int} nNodes {small} localRanks {small} localRank {small} "
    "MNNVL "
    "{small}",
    // The watchdog of PyTorch
    "[Rank {small}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={int}, "
    "OpType={optype}, NumelIn={int}, NumelOut={int}, Timeout(ms)={int}) ran for {int} milliseconds "
    "before timing out.",
    "[PG ID {small} PG GUID {small}({group}) Rank {small}] failure detected by watchdog at work "
    "sequence id: {int} PG status: last enqueued work: {int}, last started work: {signed}, last "
    "completed work: {int}",
    "[PG ID {small} PG GUID {small}({group}) Rank {small}] ProcessGroupNCCL preparing to dump "
    "debug "
    "info. Include stack trace: {small}",
    "Sending process {int} closing signal {signal}",
    "failed (exitcode: {signed}) local_rank: {small} (pid: {int}) of binary: {path}",
    // The kernel
    "NVRM: Xid (PCI:{pci}): 119, pid={pid}, name={process}, Timeout after {small}s of waiting for "
    "RPC response from GPU{small} GSP! Expected function {int} ({gsp}) ({hex} {hex}).",
    "NVRM: Xid (PCI:{pci}): 31, pid={pid}, name={process}, Ch {eight}, intr {hex}. MMU Fault: "
    "ENGINE "
    "GRAPHICS faulted @ {hex}. Fault is of type {fault}",
    "NVRM: Xid (PCI:{pci}): 79, pid={pid}, name={process}, GPU has fallen off the bus.",
    "NVRM: Xid (PCI:{pci}): 13, pid={pid}, name={process}, Graphics SM Warp Exception on (GPC "
    "{small}, TPC {small}, SM {small}): {words}",
    "NVRM: GPU at PCI:{pci}: GPU-{uuid}",
    "nvidia-peermem nv_get_p2p_free_callback:{int} ERROR detected invalid context, skipping "
    "further "
    "processing",
    "Out of memory: Killed process {int} ({process}) total-vm:{int}kB, anon-rss:{int}kB",
    // The fabric manager
    "multicast group {small} is allocated.",
    "multicast group {small} is freed.",
    "Received an inband message: Message header details: magic Id:{shorthex} request Id:{hex16} "
    "status:{small} type:{small} length:{int}",
    "Sending inband response message: Message header details: magic Id:{shorthex} request "
    "Id:{hex16} "
    "status:{small} type:{small} length:{int}",
    "Message payload details:Team setup request: Allocation Size:{hex16} Flags:{small} Number of "
    "GPUs:{small} GPU Handles:{handles}",
    "detected NVSwitch fatal error {int} on fid {small} on NVSwitch pci bus id {pci} physical id "
    "{small} port {small}",
};

}  // namespace

std::vector<std::string_view> EngineStatements() {
  return {std::begin(kStatements), std::end(kStatements)};
}

}  // namespace telltale::simulate
