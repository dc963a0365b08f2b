package main

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Functions that don't come back.
var exits = map[string]bool{
	"os.Exit": true, "runtime.Goexit": true, "syscall.Exit": true,
	"log.Fatal": true, "log.Fatalf": true, "log.Fatalln": true,
	"log.Panic": true, "log.Panicf": true, "log.Panicln": true,
	"syscall.Exec": true,
}

const never = 1 << 30

// What a jump can leave.
type frame struct {
	label  string
	loop   bool
	target int // the lowest frame that some jump in it leaves
}

// Jumps in a function leave nothing outside it.
func (a *analyser) apart(look func()) {
	frames, label := a.frames, a.label
	a.frames, a.label = nil, ""
	look()
	a.frames, a.label = frames, label
}

// Whether a jump leaves what `look` looks at.
func (a *analyser) framed(loop bool, look func()) bool {
	a.frames = append(a.frames, frame{a.label, loop, never})
	a.label = ""
	look()
	depth := len(a.frames) - 1
	target := a.frames[depth].target
	a.frames = a.frames[:depth]
	a.jump(target)
	return target <= depth
}

// Everything from that depth on is left.
func (a *analyser) jump(depth int) {
	if last := len(a.frames) - 1; last >= 0 && depth < a.frames[last].target {
		a.frames[last].target = depth
	}
}

func (a *analyser) branch(node *ast.BranchStmt) {
	switch {
	case node.Tok == token.GOTO:
		a.jump(0)
	case node.Tok == token.FALLTHROUGH:
	case node.Label != nil:
		for i := len(a.frames) - 1; i >= 0; i-- {
			if a.frames[i].label != node.Label.Name {
				continue
			}
			if node.Tok == token.CONTINUE {
				i++
			}
			a.jump(i)
			return
		}
	case node.Tok == token.BREAK:
		a.jump(len(a.frames) - 1)
	}
}

func (a *analyser) forLoop(node *ast.ForStmt) {
	left := a.framed(true, func() { a.lookAt(node.Init, node.Cond, node.Post, node.Body) })
	if left || !alwaysTrue(node.Cond) {
		return
	}
	name := "for"
	if node.Cond != nil {
		name = "for " + types.ExprString(node.Cond)
	}
	a.facts.tell("endless-loop", node.Pos(), name, "")
}

func alwaysTrue(condition ast.Expr) bool {
	switch node := condition.(type) {
	case nil:
		return true
	case *ast.ParenExpr:
		return alwaysTrue(node.X)
	case *ast.Ident:
		return node.Name == "true" && node.Obj == nil
	case *ast.UnaryExpr:
		word, ok := node.X.(*ast.Ident)
		return node.Op == token.NOT && ok && word.Name == "false" && word.Obj == nil
	}
	return false
}
