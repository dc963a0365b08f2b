// Reads a pod's manifest with Kubernetes' own types and refuses what they don't
// know.
package main

import (
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	for _, path := range os.Args[1:] {
		text, err := os.ReadFile(path)
		if err == nil {
			err = yaml.UnmarshalStrict(text, &corev1.Pod{})
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			os.Exit(1)
		}
	}
}
