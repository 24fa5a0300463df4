// Package kube writes the Kubernetes objects of a fleet, and can hand them to
// kubectl.
//
//	Secret    NAME              the run's token
//	ConfigMap NAME              files of the load, such as a scenario; when there are any
//	Service   NAME              the coordinator's NATS server; when it is the embedded one
//	Job       NAME-coordinator  one pod; its log is the result; when it is not elsewhere
//	Job       NAME-worker       Indexed: completions = parallelism = workers
//
// A worker's share is its JOB_COMPLETION_INDEX. A pod that fails is not
// replaced: by the time another one stood, the window would be over, and the
// outcome says what was lost. Nor does it end the others, which is why the
// limit of retries is that of the index (backoffLimitPerIndex, Kubernetes 1.29
// or later) and not that of the Job.
//
// The pods meet the "restricted" Pod Security Standard: not root, no privileges,
// a root file system that is not written to, no token of a service account.
package kube
