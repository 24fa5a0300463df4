// Package kube writes the Kubernetes objects of a fleet, and can apply them with kubectl.
//
//	Secret    NAME              the run's token
//	ConfigMap NAME              files of the load, such as a scenario; if there are any
//	Service   NAME              the coordinator's NATS server; if it is embedded
//	Job       NAME-coordinator  one pod, whose log is the result; if it runs in the cluster
//	Job       NAME-worker       Indexed: completions = parallelism = workers
//
// A worker's share is its JOB_COMPLETION_INDEX. A failed pod is not replaced: the window
// would be over before a new one was ready, and the outcome reports the loss. Nor does it
// end the other pods: retries are limited per index (backoffLimitPerIndex, Kubernetes 1.29
// or later) instead of per Job.
//
// The pods meet the "restricted" Pod Security Standard: not root, no privileges, a read-only
// root file system, no service account token.
package kube
