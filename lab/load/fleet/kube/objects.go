package kube

// These types are the parts of the Kubernetes API that this package writes, in the usual
// order. They avoid a client library, of which nothing else would be used.

type object struct {
	APIVersion string            `yaml:"apiVersion"`
	Kind       string            `yaml:"kind"`
	Metadata   metadata          `yaml:"metadata"`
	Type       string            `yaml:"type,omitempty"`       // of a Secret
	Immutable  bool              `yaml:"immutable,omitempty"`  // Secret, ConfigMap
	StringData map[string]string `yaml:"stringData,omitempty"` // Secret
	BinaryData map[string]string `yaml:"binaryData,omitempty"` // ConfigMap; base64
	Spec       any               `yaml:"spec,omitempty"`       // serviceSpec or jobSpec
}

type metadata struct {
	Name      string            `yaml:"name,omitempty"`
	Namespace string            `yaml:"namespace,omitempty"`
	Labels    map[string]string `yaml:"labels,omitempty"`
}

type serviceSpec struct {
	Selector map[string]string `yaml:"selector"`
	Ports    []servicePort     `yaml:"ports"`
}

type servicePort struct {
	Name       string `yaml:"name"`
	Port       int    `yaml:"port"`
	TargetPort string `yaml:"targetPort"`
}

type jobSpec struct {
	CompletionMode          string   `yaml:"completionMode,omitempty"`
	Completions             int      `yaml:"completions"`
	Parallelism             int      `yaml:"parallelism"`
	BackoffLimit            *int     `yaml:"backoffLimit,omitempty"`
	BackoffLimitPerIndex    *int     `yaml:"backoffLimitPerIndex,omitempty"`
	MaxFailedIndexes        *int     `yaml:"maxFailedIndexes,omitempty"`
	ActiveDeadlineSeconds   int      `yaml:"activeDeadlineSeconds"`
	TTLSecondsAfterFinished int      `yaml:"ttlSecondsAfterFinished"`
	Template                template `yaml:"template"`
}

type template struct {
	Metadata metadata `yaml:"metadata"`
	Spec     podSpec  `yaml:"spec"`
}

type podSpec struct {
	RestartPolicy      string      `yaml:"restartPolicy"`
	AutomountToken     bool        `yaml:"automountServiceAccountToken"`
	EnableServiceLinks bool        `yaml:"enableServiceLinks"`
	TerminationGrace   int         `yaml:"terminationGracePeriodSeconds"`
	Security           podSecurity `yaml:"securityContext"`
	TopologySpread     []spread    `yaml:"topologySpreadConstraints,omitempty"`
	Containers         []container `yaml:"containers"`
	Volumes            []volume    `yaml:"volumes,omitempty"`
}

type podSecurity struct {
	RunAsNonRoot bool    `yaml:"runAsNonRoot"`
	RunAsUser    int     `yaml:"runAsUser"`
	RunAsGroup   int     `yaml:"runAsGroup"`
	Seccomp      seccomp `yaml:"seccompProfile"`
}

type seccomp struct {
	Type string `yaml:"type"`
}

type spread struct {
	MaxSkew           int      `yaml:"maxSkew"`
	TopologyKey       string   `yaml:"topologyKey"`
	WhenUnsatisfiable string   `yaml:"whenUnsatisfiable"`
	LabelSelector     selector `yaml:"labelSelector"`
}

type selector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

type container struct {
	Name      string            `yaml:"name"`
	Image     string            `yaml:"image"`
	Command   []string          `yaml:"command,omitempty"`
	Args      []string          `yaml:"args"`
	Env       []variable        `yaml:"env"`
	Ports     []containerPort   `yaml:"ports,omitempty"`
	Resources resources         `yaml:"resources"`
	Security  containerSecurity `yaml:"securityContext"`
	Mounts    []mount           `yaml:"volumeMounts,omitempty"`
}

type variable struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value,omitempty"`
	From  *from  `yaml:"valueFrom,omitempty"`
}

type from struct {
	Secret *secretKey `yaml:"secretKeyRef,omitempty"`
	Field  *fieldPath `yaml:"fieldRef,omitempty"`
}

type secretKey struct {
	Name string `yaml:"name"`
	Key  string `yaml:"key"`
}

type fieldPath struct {
	Path string `yaml:"fieldPath"`
}

type containerPort struct {
	Name string `yaml:"name"`
	Port int    `yaml:"containerPort"`
}

type resources struct {
	Requests map[string]string `yaml:"requests"`
	Limits   map[string]string `yaml:"limits"`
}

type containerSecurity struct {
	Escalation   bool         `yaml:"allowPrivilegeEscalation"`
	ReadOnlyRoot bool         `yaml:"readOnlyRootFilesystem"`
	Capabilities capabilities `yaml:"capabilities"`
}

type capabilities struct {
	Drop []string `yaml:"drop"`
}

type mount struct {
	Name     string `yaml:"name"`
	Path     string `yaml:"mountPath"`
	ReadOnly bool   `yaml:"readOnly"`
}

type volume struct {
	Name      string    `yaml:"name"`
	ConfigMap configMap `yaml:"configMap"`
}

type configMap struct {
	Name string `yaml:"name"`
}
