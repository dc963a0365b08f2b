class Helper {
    String name() {
        return getClass().getName();
    }
}
