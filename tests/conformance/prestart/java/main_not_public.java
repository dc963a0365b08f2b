class Hidden {
    public static void main(String[] args) {
        System.out.println("in " + Hidden.class);
    }
}
