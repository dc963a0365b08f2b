// Prints facts about the Go files named by its arguments, of which the first is
// the program's own (docs/analysers.md). It looks at nothing but these. With
// --wait it says that it waits, and is told the files then.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Functions that do nothing but write files.
var writes = map[string]bool{
	"os.Create": true, "os.WriteFile": true, "os.CreateTemp": true, "os.Truncate": true,
	"io/ioutil.WriteFile": true, "io/ioutil.TempFile": true, "syscall.Creat": true,
}

// Functions that open files, and which argument has the flags.
var opens = map[string]int{"os.OpenFile": 1, "syscall.Open": 1}

// The last part of a module's path may be its version.
var version = regexp.MustCompile(`^v[0-9]+$`)

type analyser struct {
	facts    *facts
	packages map[string]string // by the name that a file has for them
	dots     []string          // imported without a name
	// What the program declares outside functions, in any of its files.
	declared map[string]bool
	frames   []frame
	label    string // of the statement that comes next
}

func main() {
	names := os.Args[1:]
	end := ""
	var err error
	if len(names) > 0 && names[0] == "--wait" {
		analyse([]string{"main.go"}, func(string) ([]byte, error) { return []byte(sample), nil })
		names, end, err = awaitJob()
	}
	if err == nil {
		err = tell(names)
	}
	code := 0
	if err != nil {
		fmt.Fprintf(os.Stderr, "the program can't be analysed: %v\n", err)
		code = 1
	}
	if end != "" {
		fmt.Printf("%s%d\n", end, code)
	}
	os.Exit(code)
}

func tell(names []string) error {
	if len(names) == 0 {
		return errors.New("usage: analyse FILE… | --wait")
	}
	text, err := analyse(names, os.ReadFile)
	if err == nil {
		_, err = os.Stdout.WriteString(text)
	}
	return err
}

func analyse(names []string, read func(string) ([]byte, error)) (string, error) {
	files := token.NewFileSet()
	known := &facts{files: files, known: map[told]*fact{}}
	declared := map[string]map[string]bool{} // by directory
	var programs []*ast.File
	var problem error
	for _, name := range names {
		source, err := read(name)
		if err != nil {
			return "", err
		}
		source = bytes.TrimPrefix(source, []byte("\xef\xbb\xbf"))
		// The first mistake is enough.
		program, err := parser.ParseFile(files, name, source, parser.ParseComments)
		if err != nil {
			problem = err
			break
		}
		programs = append(programs, program)
		directory := path.Dir(name)
		if declared[directory] == nil {
			declared[directory] = map[string]bool{}
		}
		for object := range program.Scope.Objects {
			declared[directory][object] = true
		}
	}
	for i, program := range programs {
		known.file = i
		a := analyser{facts: known, packages: map[string]string{}, declared: declared[path.Dir(names[i])]}
		a.program(program)
	}
	if problem != nil {
		known.file = len(programs)
		var list scanner.ErrorList
		if !errors.As(problem, &list) || len(list) == 0 {
			return "", problem
		}
		known.tellAt("syntax-error", list[0].Pos.Line, list[0].Pos.Column, list[0].Msg, "")
	}
	return known.text(), nil
}

func (a *analyser) program(program *ast.File) {
	for _, spec := range program.Imports {
		a.imported(spec)
	}
	for _, group := range program.Comments {
		for _, comment := range group.List {
			// A function of another package by a name of one's own.
			words := strings.Fields(comment.Text)
			if len(words) > 2 && words[0] == "//go:linkname" {
				a.facts.tell("use", comment.Pos(), words[2], "")
			}
		}
	}
	for _, declaration := range program.Decls {
		a.look(declaration)
	}
}

func (a *analyser) imported(spec *ast.ImportSpec) {
	full, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return
	}
	a.facts.tell("import", spec.Path.Pos(), full, "")
	name := path.Base(full)
	if version.MatchString(name) {
		name = path.Base(path.Dir(full))
	}
	if spec.Name != nil {
		name = spec.Name.Name
	}
	switch name {
	case ".":
		a.dots = append(a.dots, full)
	case "_":
	default:
		a.packages[name] = full
	}
}

// The full name of what an expression names in another package; "" for others.
func (a *analyser) resolve(node ast.Expr) string {
	switch node := node.(type) {
	case *ast.ParenExpr:
		return a.resolve(node.X)
	case *ast.SelectorExpr:
		if name, ok := node.X.(*ast.Ident); ok && name.Obj == nil && a.packages[name.Name] != "" {
			return a.packages[name.Name] + "." + node.Sel.Name
		}
	case *ast.Ident:
		// Of several packages without a name it may be any; then each is told.
		if len(a.dots) == 1 && a.undeclared(node) {
			return a.dots[0] + "." + node.Name
		}
	case *ast.IndexExpr: // of a generic function
		return a.resolve(node.X)
	}
	return ""
}

func (a *analyser) undeclared(node *ast.Ident) bool {
	return node.Obj == nil && node.IsExported() && !a.declared[node.Name]
}

func (a *analyser) lookAt(nodes ...ast.Node) {
	for _, node := range nodes {
		a.look(node)
	}
}

func (a *analyser) look(root ast.Node) {
	if absent(root) {
		return
	}
	ast.Inspect(root, a.see)
}

// What is nil inside an interface is none.
func absent(node ast.Node) bool {
	switch node := node.(type) {
	case nil:
		return true
	case *ast.BlockStmt:
		return node == nil
	case *ast.FieldList:
		return node == nil
	}
	return false
}

// False: what is in the node has been looked at.
func (a *analyser) see(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.FuncDecl:
		a.lookAt(node.Recv, node.Type)
		a.apart(func() { a.look(node.Body) })
		return false
	case *ast.FuncLit:
		a.look(node.Type)
		a.apart(func() { a.look(node.Body) })
		return false
	case *ast.GenDecl:
		return node.Tok != token.IMPORT
	case *ast.Field:
		a.look(node.Type)
		return false
	case *ast.KeyValueExpr:
		// The name of a field isn't resolved, and no use of what is called so.
		if _, ok := node.Key.(*ast.Ident); !ok {
			a.look(node.Key)
		}
		a.look(node.Value)
		return false
	case *ast.SelectorExpr:
		if name := a.resolve(node); name != "" {
			a.use(node, name)
		} else {
			a.look(node.X)
		}
		return false
	case *ast.Ident:
		if a.undeclared(node) {
			for _, dot := range a.dots {
				a.use(node, dot+"."+node.Name)
			}
		}
	case *ast.CallExpr:
		a.call(node)
	case *ast.LabeledStmt:
		a.label = node.Label.Name
		switch node.Stmt.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
		default:
			a.label = ""
		}
		a.look(node.Stmt)
		return false
	case *ast.ForStmt:
		a.forLoop(node)
		return false
	case *ast.RangeStmt:
		a.lookAt(node.Key, node.Value, node.X)
		a.framed(true, func() { a.look(node.Body) })
		return false
	case *ast.SwitchStmt:
		a.lookAt(node.Init, node.Tag)
		a.framed(false, func() { a.look(node.Body) })
		return false
	case *ast.TypeSwitchStmt:
		a.lookAt(node.Init, node.Assign)
		a.framed(false, func() { a.look(node.Body) })
		return false
	case *ast.SelectStmt:
		a.framed(false, func() { a.look(node.Body) })
		return false
	case *ast.BranchStmt:
		a.branch(node)
		return false
	case *ast.ReturnStmt:
		a.jump(0)
	}
	return true
}

func (a *analyser) use(node ast.Node, name string) {
	a.facts.tell("use", node.Pos(), name, "")
	if writes[name] {
		a.facts.tell("open-write", node.Pos(), name, "")
	}
}

func (a *analyser) call(node *ast.CallExpr) {
	name := a.resolve(node.Fun)
	if word, ok := node.Fun.(*ast.Ident); ok && word.Name == "panic" && word.Obj == nil {
		a.jump(0)
	}
	if exits[name] {
		a.jump(0)
	}
	if selector, ok := node.Fun.(*ast.SelectorExpr); ok && name == "" {
		a.facts.tell("use", selector.Sel.Pos(), "?."+selector.Sel.Name, "")
	}
	if at, ok := opens[name]; ok && at < len(node.Args) {
		a.opened(node, name, node.Args[at])
	}
}

func (a *analyser) opened(node *ast.CallExpr, name string, flags ast.Expr) {
	words := a.flags(flags)
	if words == nil {
		a.facts.tell("open-write", node.Pos(), name, "mode unknown")
		return
	}
	for _, word := range words {
		switch word {
		case "O_RDONLY", "O_SYNC", "O_CLOEXEC", "O_NOFOLLOW", "O_DIRECTORY", "O_NONBLOCK", "0":
		default:
			a.facts.tell("open-write", node.Pos(), name, strings.Join(words, "|"))
			return
		}
	}
}

// The names that are joined by "|"; nil where there is something else.
func (a *analyser) flags(node ast.Expr) []string {
	switch node := node.(type) {
	case *ast.ParenExpr:
		return a.flags(node.X)
	case *ast.BasicLit:
		return []string{node.Value}
	case *ast.BinaryExpr:
		left, right := a.flags(node.X), a.flags(node.Y)
		if node.Op == token.OR && left != nil && right != nil {
			return append(left, right...)
		}
	}
	if name := a.resolve(node); name != "" {
		return []string{name[strings.LastIndex(name, ".")+1:]}
	}
	return nil
}
