import com.sun.source.tree.BreakTree;
import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.ContinueTree;
import com.sun.source.tree.DoWhileLoopTree;
import com.sun.source.tree.EnhancedForLoopTree;
import com.sun.source.tree.ExpressionTree;
import com.sun.source.tree.ForLoopTree;
import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.ImportTree;
import com.sun.source.tree.LabeledStatementTree;
import com.sun.source.tree.LambdaExpressionTree;
import com.sun.source.tree.MemberReferenceTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.MethodInvocationTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.NewClassTree;
import com.sun.source.tree.ParenthesizedTree;
import com.sun.source.tree.ReturnTree;
import com.sun.source.tree.SwitchTree;
import com.sun.source.tree.ThrowTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.WhileLoopTree;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.TreeScanner;
import com.sun.source.util.Trees;
import com.sun.tools.javac.tree.JCTree;
import com.sun.tools.javac.tree.TreeInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import javax.lang.model.element.Element;
import javax.lang.model.element.ElementKind;
import javax.lang.model.element.TypeElement;

/**
 * Looks at classes that javac has attributed, so that every name is known for what it is, and tells
 * facts about them (docs/analysers.md).
 */
final class Analyse extends TreeScanner<Void, Void> {
    private static final Set<String> EXITS = Set.of("java.lang.System.exit",
            "java.lang.Runtime.exit", "java.lang.Runtime.halt");
    private static final Set<String> CLASS_NAMES =
            Set.of("java.lang.Class.forName", "java.lang.ClassLoader.loadClass",
                    "java.lang.invoke.MethodHandles.Lookup.findClass");
    /** Their constructors open files for writing, or some do. */
    private static final Set<String> WRITERS = Set.of("java.io.FileWriter",
            "java.io.FileOutputStream", "java.io.PrintWriter", "java.io.PrintStream",
            "java.util.logging.FileHandler");
    private static final Set<String> WRITES = Set.of("java.nio.file.Files.write",
            "java.nio.file.Files.writeString", "java.nio.file.Files.newBufferedWriter",
            "java.nio.file.Files.newOutputStream", "java.nio.file.Files.copy",
            "java.nio.file.Files.createFile", "java.nio.file.Files.createTempFile",
            "java.io.File.createNewFile", "java.io.File.createTempFile");
    private static final Set<String> CHANNELS = Set.of("java.nio.channels.FileChannel.open",
            "java.nio.channels.AsynchronousFileChannel.open",
            "java.nio.file.Files.newByteChannel");
    private static final Set<String> READING = Set.of("READ", "NOFOLLOW_LINKS");
    private static final int NEVER = Integer.MAX_VALUE;

    /** What a jump can leave, and the outermost of these that one in it leaves. */
    private static final class Frame {
        final Tree tree;
        final boolean loop;
        int target = NEVER;

        Frame(Tree tree, boolean loop) {
            this.tree = tree;
            this.loop = loop;
        }
    }

    private final Facts facts;
    private final CompilationUnitTree unit;
    private final int file;
    private final SourcePositions positions;
    private final Set<String> own;
    private List<Frame> frames = new ArrayList<>();

    /** @param own the program's own top-level classes */
    Analyse(Facts facts, Trees trees, CompilationUnitTree unit, int file, Set<String> own) {
        this.facts = facts;
        this.unit = unit;
        this.file = file;
        this.own = own;
        positions = trees.getSourcePositions();
    }

    /** What a file imports, of which nothing need have been attributed. */
    void lookAtImports() {
        for (ImportTree imported : unit.getImports()) {
            String name = imported.getQualifiedIdentifier().toString();
            boolean all = name.endsWith(".*");
            if (imported.isStatic() || all) {
                String member = name.substring(name.lastIndexOf('.') + 1);
                name = name.substring(0, name.lastIndexOf('.'));
                if (imported.isStatic() && !all) {
                    tell("use", imported, name + "." + member, "");
                }
            }
            tell("import", imported, name, "");
        }
    }

    private long placeOf(Tree tree) {
        return positions.getStartPosition(unit, tree);
    }

    private void tell(String kind, Tree tree, String name, String detail) {
        long place = placeOf(tree);
        // What the compiler has put there, as the type of a "var", has none.
        if (place >= 0) {
            facts.tell(kind, file, place, name, detail);
        }
    }

    // Names.

    /** The dotted name of what is not the program's own, or null. */
    private String nameOf(Element element) {
        if (element == null || element.asType() == null) {
            return null;
        }
        ElementKind kind = element.getKind();
        if (kind.isClass() || kind.isInterface()) {
            String name = ((TypeElement) element).getQualifiedName().toString();
            return name.isEmpty() || isOwn(element) ? null : name;
        }
        if (kind == ElementKind.CONSTRUCTOR) {
            return nameOf(element.getEnclosingElement());
        }
        if (kind == ElementKind.METHOD || kind == ElementKind.FIELD
                || kind == ElementKind.ENUM_CONSTANT) {
            String type = nameOf(element.getEnclosingElement());
            // "Thread.class" is a mention of the class.
            boolean whole = type == null || element.getSimpleName().contentEquals("class");
            return whole ? type : type + "." + element.getSimpleName();
        }
        return null;
    }

    private boolean isOwn(Element element) {
        Element outermost = element;
        for (Element outer = element; outer instanceof TypeElement;
                outer = outer.getEnclosingElement()) {
            outermost = outer;
        }
        // A class in a method is the program's, for it has been compiled here.
        return !outermost.getEnclosingElement().getKind().equals(ElementKind.PACKAGE)
                || own.contains(((TypeElement) outermost).getQualifiedName().toString());
    }

    private static Element elementOf(Tree tree) {
        return TreeInfo.symbolFor((JCTree) tree);
    }

    private String use(Tree tree, Element element) {
        String name = nameOf(element);
        if (name != null) {
            tell("use", tree, name, "");
            if (WRITES.contains(name)) {
                tell("open-write", tree, name, "");
            }
        }
        return name;
    }

    @Override
    public Void visitIdentifier(IdentifierTree tree, Void nothing) {
        Element element = elementOf(tree);
        // "this" and "super" are fields, too.
        if (!tree.getName().contentEquals("this") && !tree.getName().contentEquals("super")) {
            use(tree, element);
        }
        return null;
    }

    @Override
    public Void visitMemberSelect(MemberSelectTree tree, Void nothing) {
        Element element = elementOf(tree);
        String name = use(tree, element);
        if (name == null) {
            return super.visitMemberSelect(tree, nothing);
        }
        Element of = elementOf(tree.getExpression());
        if (of != null && of.getKind() == ElementKind.PACKAGE) {
            tell("import", tree, name, "");
            return null;
        }
        // The class in front of a member has been told by the member's name, unless it
        // inherits that.
        String type = nameOf(of);
        if (of instanceof TypeElement && type != null && name.startsWith(type + ".")) {
            qualified(tree.getExpression());
            return null;
        }
        return super.visitMemberSelect(tree, nothing);
    }

    /** Tells of a class that is named with its package. */
    private void qualified(ExpressionTree tree) {
        if (tree instanceof MemberSelectTree select) {
            Element of = elementOf(select.getExpression());
            if (of != null && of.getKind() == ElementKind.PACKAGE) {
                tell("import", tree, nameOf(elementOf(tree)), "");
            } else {
                qualified(select.getExpression());
            }
        }
    }

    @Override
    public Void visitMemberReference(MemberReferenceTree tree, Void nothing) {
        use(tree, elementOf(tree));
        return super.visitMemberReference(tree, nothing);
    }

    @Override
    public Void visitMethodInvocation(MethodInvocationTree tree, Void nothing) {
        Element method = elementOf(tree.getMethodSelect());
        String name = nameOf(method);
        if (name == null && method == null
                && tree.getMethodSelect() instanceof MemberSelectTree select) {
            tell("use", tree, "?." + select.getIdentifier(), "");
        }
        if (name != null) {
            List<? extends ExpressionTree> given = tree.getArguments();
            if (EXITS.contains(name)) {
                jump(0);
            }
            if (CLASS_NAMES.contains(name)) {
                loaded(tree, name, given);
            }
            if (CHANNELS.contains(name)) {
                options(tree, name, given);
            }
        }
        return super.visitMethodInvocation(tree, nothing);
    }

    private void loaded(Tree tree, String name, List<? extends ExpressionTree> given) {
        // Class.forName(Module, String)
        for (ExpressionTree one : given) {
            if (constant(one) instanceof String text) {
                tell("import", tree, text, "");
                return;
            }
        }
        String[] parts = name.split("\\.");
        tell("import-unknown", tree, parts[parts.length - 2] + "." + parts[parts.length - 1], "");
    }

    private void options(Tree tree, String name, List<? extends ExpressionTree> given) {
        List<String> words = new ArrayList<>();
        boolean known = true;
        for (ExpressionTree one : given.subList(Math.min(1, given.size()), given.size())) {
            Element element = elementOf(one);
            if (element != null && element.getKind() == ElementKind.ENUM_CONSTANT) {
                words.add(element.getSimpleName().toString());
            } else {
                known = false;
            }
        }
        if (!known) {
            tell("open-write", tree, name, "mode unknown");
        } else if (!READING.containsAll(words)) {
            tell("open-write", tree, name, String.join("|", words));
        }
    }

    @Override
    public Void visitNewClass(NewClassTree tree, Void nothing) {
        Element type = elementOf(tree.getIdentifier());
        String name = nameOf(type);
        List<? extends ExpressionTree> given = tree.getArguments();
        if (name != null && WRITERS.contains(name) && opensFile(tree)) {
            tell("open-write", tree, name, "");
        } else if ("java.io.RandomAccessFile".equals(name) && given.size() == 2) {
            if (!(constant(given.get(1)) instanceof String mode)) {
                tell("open-write", tree, name, "mode unknown");
            } else if (mode.contains("w")) {
                tell("open-write", tree, name, mode);
            }
        }
        return super.visitNewClass(tree, nothing);
    }

    /** Not by wrapping what is open. */
    private static boolean opensFile(NewClassTree tree) {
        if (tree.getArguments().isEmpty()) {
            return false;
        }
        String type = String.valueOf(((JCTree) tree.getArguments().get(0)).type);
        return Set.of("java.lang.String", "java.io.File").contains(type)
                || !type.startsWith("java.io.") || type.endsWith("FileDescriptor");
    }

    /** The value that the compiler knows; null without one. */
    private static Object constant(ExpressionTree tree) {
        return ((JCTree) tree).type == null ? null : ((JCTree) tree).type.constValue();
    }

    // Loops, and what leaves them.

    private void apart(Runnable look) {
        List<Frame> outside = frames;
        frames = new ArrayList<>();
        look.run();
        frames = outside;
    }

    /** Whether a jump leaves what {@code look} looks at. */
    private boolean framed(Tree tree, boolean loop, Runnable look) {
        Frame frame = new Frame(tree, loop);
        frames.add(frame);
        look.run();
        frames.remove(frames.size() - 1);
        jump(frame.target);
        return frame.target <= frames.size();
    }

    /** Everything from that depth on is left. */
    private void jump(int depth) {
        if (!frames.isEmpty()) {
            Frame innermost = frames.get(frames.size() - 1);
            innermost.target = Math.min(innermost.target, depth);
        }
    }

    private void loop(Tree tree, ExpressionTree condition, String text, Runnable look) {
        if (!framed(tree, true, look) && alwaysTrue(condition)) {
            String test = condition == null ? "" : inside(condition).toString();
            tell("endless-loop", tree, text.replace("TEST", test), "");
        }
    }

    private static boolean alwaysTrue(ExpressionTree condition) {
        // The compiler has booleans as numbers.
        return condition == null
                || Set.of("1", "true").contains(String.valueOf(constant(inside(condition))));
    }

    private static ExpressionTree inside(ExpressionTree tree) {
        ExpressionTree inner = tree;
        while (inner instanceof ParenthesizedTree parentheses) {
            inner = parentheses.getExpression();
        }
        return inner;
    }

    @Override
    public Void visitWhileLoop(WhileLoopTree tree, Void nothing) {
        loop(tree, tree.getCondition(), "while (TEST)",
                () -> super.visitWhileLoop(tree, nothing));
        return null;
    }

    @Override
    public Void visitDoWhileLoop(DoWhileLoopTree tree, Void nothing) {
        loop(tree, tree.getCondition(), "do while (TEST)",
                () -> super.visitDoWhileLoop(tree, nothing));
        return null;
    }

    @Override
    public Void visitForLoop(ForLoopTree tree, Void nothing) {
        loop(tree, tree.getCondition(), "for (;TEST;)",
                () -> super.visitForLoop(tree, nothing));
        return null;
    }

    @Override
    public Void visitEnhancedForLoop(EnhancedForLoopTree tree, Void nothing) {
        framed(tree, true, () -> super.visitEnhancedForLoop(tree, nothing));
        return null;
    }

    @Override
    public Void visitSwitch(SwitchTree tree, Void nothing) {
        framed(tree, false, () -> super.visitSwitch(tree, nothing));
        return null;
    }

    @Override
    public Void visitLabeledStatement(LabeledStatementTree tree, Void nothing) {
        framed(tree, false, () -> super.visitLabeledStatement(tree, nothing));
        return null;
    }

    @Override
    public Void visitBreak(BreakTree tree, Void nothing) {
        for (int i = frames.size() - 1; i >= 0; i--) {
            Tree left = frames.get(i).tree;
            boolean labelled = left instanceof LabeledStatementTree;
            if (tree.getLabel() == null ? !labelled : isCalled(left, tree.getLabel())) {
                jump(i);
                break;
            }
        }
        return null;
    }

    @Override
    public Void visitContinue(ContinueTree tree, Void nothing) {
        for (int i = frames.size() - 1; i >= 0 && tree.getLabel() != null; i--) {
            if (isCalled(frames.get(i).tree, tree.getLabel())) {
                // It stays in the loop, whose frame is the next.
                jump(i + 2);
                break;
            }
        }
        return null;
    }

    private static boolean isCalled(Tree tree, CharSequence label) {
        return tree instanceof LabeledStatementTree labelled
                && labelled.getLabel().contentEquals(label);
    }

    @Override
    public Void visitReturn(ReturnTree tree, Void nothing) {
        jump(0);
        return super.visitReturn(tree, nothing);
    }

    @Override
    public Void visitThrow(ThrowTree tree, Void nothing) {
        jump(0);
        return super.visitThrow(tree, nothing);
    }

    @Override
    public Void visitMethod(MethodTree tree, Void nothing) {
        apart(() -> super.visitMethod(tree, nothing));
        return null;
    }

    @Override
    public Void visitLambdaExpression(LambdaExpressionTree tree, Void nothing) {
        apart(() -> super.visitLambdaExpression(tree, nothing));
        return null;
    }

    @Override
    public Void visitClass(ClassTree tree, Void nothing) {
        apart(() -> super.visitClass(tree, nothing));
        return null;
    }
}
